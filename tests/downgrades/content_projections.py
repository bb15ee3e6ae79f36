"""The projections of the differences in what messages hold: their content parts, their members, their roles."""

from collections.abc import Iterator
from typing import Any

from agui_middleware.downgrades import Difference
from tests.downgrades.cases import Case
from tests.downgrades.projections import End, drop, projects
from tests.strategies import Json

MEDIA = ("image", "audio", "video", "document")


def _parts(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(parts: list[Json]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")


@projects(Difference.RESULT_TEXT)
def _result_text(end: End, case: Case) -> None:
    _join(end, "tool", case)


def _join(end: End, role: str, case: Case) -> None:
    """Leave the text of the messages of a role. One that goes on as a stream begins anew in 1.0.0 where it had parts."""
    began = _began_in_parts(case)
    for message in end.messages:
        if message["role"] == role and message["id"] in began:
            message["content"] = ""
        elif message["role"] == role and isinstance(message["content"], list):
            message["content"] = _text(message["content"])


def _began_in_parts(case: Case) -> set[Any]:
    """The messages that were content parts, and text that streamed afterwards."""
    parts, began = set(), set()
    for event in case.events:
        restated = (*event.get("messages", ()), *event.get("input", {}).get("messages", ()))
        parts |= {message.get("id") for message in restated if isinstance(message.get("content"), list)}
        if event["type"] == "TOOL_CALL_RESULT" and isinstance(event["content"], list):
            parts.add(event["messageId"])
        if event["type"].startswith("TEXT_MESSAGE_"):
            began |= {event.get("messageId")} & parts
    return began


@projects(Difference.WITHOUT_HANDLES)
def _without_handles(end: End, _: Case) -> None:
    for message in end.messages:
        parts = _parts(message)
        parts[:] = [part for part in parts if part.get("source", {}).get("type") != "file"]


@projects(Difference.WITHOUT_PART_MEMBERS)
def _without_part_members(end: End, _: Case) -> None:
    for message in end.messages:
        for part in _parts(message):
            if part["type"] != "binary":
                part.pop("id", None)
            if part["type"] == "text":
                part.pop("metadata", None)


@projects(Difference.BINARY_HANDLES)
def _binary_handles(end: End, _: Case) -> None:
    for message in end.messages:
        parts = _parts(message)
        parts[:] = [part for part in parts if part["type"] != "binary" or {"url", "data"} & part.keys()]


@projects(Difference.MEDIA_AS_BINARY)
def _media_as_binary(end: End, _: Case) -> None:
    for message in end.messages:
        parts = _parts(message)
        parts[:] = [_binary(part) if part["type"] in MEDIA else part for part in parts]


def _binary(part: Json) -> Json:
    source: Json = part["source"]
    unnamed = "application/octet-stream" if part["type"] == "document" else f"{part['type']}/*"
    binary: Json = {"type": "binary", "mimeType": source.get("mimeType", unnamed), source["type"]: source["value"]}
    metadata: Any = part.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("filename"), str):
        binary["filename"] = metadata["filename"]
    return binary


@projects(Difference.USER_TEXT)
def _user_text(end: End, case: Case) -> None:
    _join(end, "user", case)


@projects(Difference.WITHOUT_ECHO)
def _without_echo(end: End, case: Case) -> None:
    known, echoed = {message["id"] for message in case.run.messages}, set()
    streamed: set[Any] = set()  # calls
    brought: set[Any] = set()
    for event in case.events:
        for message in event.get("input", {}).get("messages", ()):
            if message.get("id") not in known:
                echoed.add(message.get("id"))
                brought |= {call["id"] for call in message.get("toolCalls", ())} - streamed
        if event["type"] in ("TOOL_CALL_START", "TOOL_CALL_CHUNK"):
            streamed.add(event.get("toolCallId"))
        known |= {event.get(name) for name in ("messageId", "parentMessageId", "toolCallId")}
        restated = {message.get("id") for message in event.get("messages", ())}
        known, echoed = known | restated, echoed - restated
    _drop_with_calls(end, echoed, brought, case)


@projects(Difference.EMPTY_STATE)
def _empty_state(end: End, _: Case) -> None:
    if not end.state and not isinstance(end.state, list):
        end.state = {}


@projects(Difference.WITHOUT_NAMES)
def _without_names(end: End, case: Case) -> None:
    streamed = {event.get("messageId") for event in case.events if event["type"].startswith("TEXT_MESSAGE_")}
    for message in end.messages:
        if message["id"] in streamed:
            message.pop("name", None)


@projects(Difference.WITHOUT_REASONING)
def _without_reasoning(end: End, case: Case) -> None:
    # By role, since 1.0.0 makes up the ids of THINKING_*; and by id, since a text may go on where reasoning was.
    reasoning = {message["id"] for message in end.messages if message["role"] == "reasoning"}
    drop(end, reasoning | {id for id, _ in _known(case, "reasoning")}, case)


def _known(case: Case, role: str) -> Iterator[tuple[Any, Any]]:
    """The id of each message that the stream, or the application, gives a role, and the event that does."""
    for message in case.run.messages:
        if message["role"] == role:
            yield message["id"], None
    opener = {"reasoning": "REASONING_MESSAGE_", "activity": "ACTIVITY_"}[role]
    for event in case.events:
        if event["type"].startswith(opener) and "messageId" in event:
            yield event["messageId"], event
        for message in (*event.get("messages", ()), *event.get("input", {}).get("messages", ())):
            if message.get("role") == role:
                yield message["id"], event


@projects(Difference.WITHOUT_ENCRYPTED_VALUES)
def _without_encrypted_values(end: End, _: Case) -> None:
    for message in end.messages:
        for holder in (message, *message.get("toolCalls", ())):
            holder.pop("encryptedValue", None)


@projects(Difference.WITHOUT_ACTIVITIES)
def _without_activities(end: End, case: Case) -> None:
    drop(end, {id for id, _ in _known(case, "activity")}, case)


@projects(Difference.WITHOUT_ERRORS)
def _without_errors(end: End, _: Case) -> None:
    for message in end.messages:
        if message["role"] == "tool":
            message.pop("error", None)


@projects(Difference.WITHOUT_RESULTS)
def _without_results(end: End, case: Case) -> None:
    known = {message["id"] for message in case.run.messages}
    answers, minted = set(), set()
    for event in case.events:
        id = event.get("messageId")
        if event["type"] == "TOOL_CALL_RESULT":
            answers.add(id)
            minted |= {id} - known
        known |= {id, *(message.get("id") for message in event.get("messages", ()))}
    # A text under the id of a result goes on where that stands; where nothing does, it makes a message of its own.
    drop(end, minted, case)
    end.messages = [message for message in end.messages if message["role"] != "tool" or message["id"] not in answers]


@projects(Difference.WITHOUT_EARLIER)
def _without_earlier(end: End, case: Case) -> None:
    if any(event["type"] == "MESSAGES_SNAPSHOT" for event in case.events):
        drop(
            end, {message["id"] for message in case.run.messages if message["role"] in ("reasoning", "activity")}, case
        )


@projects(Difference.OTHER_ACTIVITIES)
def _other_activities(end: End, case: Case) -> None:
    drop(end, {id for id, restated in _replaced(case, "activity") if not restated}, case)


@projects(Difference.OTHER_REASONING)
def _other_reasoning(end: End, case: Case) -> None:
    _drop_with_calls(end, {id for id, _ in _replaced(case, "reasoning")}, set(), case)


def _drop_with_calls(end: End, ids: set[Any], calls: set[Any], case: Case) -> None:
    """Drop messages, and calls with those that name the messages as their parents: a release may have put them elsewhere."""
    calls = calls | {event.get("toolCallId") for event in case.events if event.get("parentMessageId") in ids}
    for message in end.messages:
        if kept := [call for call in message.get("toolCalls", ()) if call["id"] not in calls]:
            message["toolCalls"] = kept
        elif message.pop("toolCalls", None) and not message.get("content"):
            ids.add(message["id"])
    drop(end, ids, case)


def _replaced(case: Case, role: str) -> Iterator[tuple[Any, bool]]:
    """The messages of a role that were known when a snapshot said which there are, and whether that restates them."""
    known: set[Any] = set()
    for id, event in _known(case, role):
        if event is None or event["type"] != "MESSAGES_SNAPSHOT":
            known.add(id)
    for snapshot in (event for event in case.events if event["type"] == "MESSAGES_SNAPSHOT"):
        restated = {message["id"] for message in snapshot["messages"] if message.get("role") == role}
        if restated or "@ag-ui/client" in snapshot.get("metadata", {}):
            yield from ((id, id in restated) for id in known)
        known |= restated


@projects(Difference.SNAPSHOT_ORDER)
def _snapshot_order(end: End, case: Case) -> None:
    if any(event["type"] == "MESSAGES_SNAPSHOT" for event in case.events):
        end.messages.sort(key=lambda message: str(message["id"]))
