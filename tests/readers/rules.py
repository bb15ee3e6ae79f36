"""What decoders cannot read about an event, by itself."""

import re
from collections.abc import Collection, Iterator

from tests.readers.decoding import Json, Rule

BASIC_ROLES = ("user", "assistant", "system", "developer", "tool")
ALL_ROLES = (*BASIC_ROLES, "activity", "reasoning")
_DECLARED = {
    *("activityType", "code", "content", "delta", "input", "message", "messageId", "messages", "name", "outcome"),
    *(
        "parentMessageId",
        "parentRunId",
        "patch",
        "rawEvent",
        "replace",
        "result",
        "role",
        "runId",
        "snapshot",
        "source",
    ),
    *("stepName", "threadId", "timestamp", "title", "toolCallId", "toolCallName"),
}
MEDIA = ("image", "audio", "video", "document")


def integer_timestamp(event: Json) -> Iterator[str]:
    if isinstance(event.get("timestamp"), float):
        yield "the timestamp is not an integer"


def empty_deltas(*types: str) -> Rule:
    def rule(event: Json) -> Iterator[str]:
        if event["type"].startswith(types) and event.get("delta") == "":
            yield "the delta is empty"

    return rule


def nulls(*allowed: str) -> Rule:
    """No null but in these members, in those that hold data, and in those that no class declares."""

    def rule(event: Json) -> Iterator[str]:
        for name, value in event.items():
            if value is None and name in _DECLARED and name not in allowed:
                yield f"{name} is null"

    return rule


def null(*refused: str) -> Rule:
    def rule(event: Json) -> Iterator[str]:
        yield from (f"{name} is null" for name in refused if name in event and event[name] is None)

    return rule


def string_result(event: Json) -> Iterator[str]:
    if event["type"] == "TOOL_CALL_RESULT" and not isinstance(event["content"], str):
        yield "the result is not a string"


def role_of(type: str, *roles: str) -> Rule:
    def rule(event: Json) -> Iterator[str]:
        if event["type"] == type and event.get("role") not in roles:
            yield f"the role is {event.get('role')!r}"

    return rule


def known_outcome(event: Json) -> Iterator[str]:
    outcome = event.get("outcome") if event["type"] == "RUN_FINISHED" else None
    if outcome is not None and outcome.get("type") not in ("success", "interrupt"):
        yield "the outcome is unknown"


def short_ids(event: Json) -> Iterator[str]:
    yield from (
        f"{name} is empty or long" for name in ("threadId", "runId") if not 0 < len(event.get(name, "x")) <= 100
    )


def full_patch(event: Json) -> Iterator[str]:
    if event["type"] == "ACTIVITY_DELTA" and not event["patch"]:
        yield "the patch is empty"


def state_given(event: Json) -> Iterator[str]:
    if event["type"] == "STATE_SNAPSHOT" and event["snapshot"] is None:
        yield "the state is null"


def uuids(event: Json) -> Iterator[str]:
    form = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    for name in ("threadId", "runId", "messageId"):
        if name in event and not form.fullmatch(event[name]):
            yield f"{name} is not a UUID"


def messages(
    roles: Collection[str] = ALL_ROLES,
    parts: Collection[str] | None = None,
    sources: Collection[str] = ("data", "url"),
    *,
    echo: bool = True,
) -> Rule:
    """Messages of these roles only, whose content is a string, or a list of these parts.

    `echo`: the messages of RUN_STARTED's input are read as well.
    """

    def rule(event: Json) -> Iterator[str]:
        held = event.get("messages", ()) if event["type"] == "MESSAGES_SNAPSHOT" else ()
        if echo and event["type"] == "RUN_STARTED":
            held = (event.get("input") or {}).get("messages", ())
        for message in held:
            if message["role"] not in roles:
                yield f"the role {message['role']!r} of a message"
            elif message["role"] in BASIC_ROLES:
                yield from _content(message.get("content", ""))

    def _content(content: object) -> Iterator[str]:
        if isinstance(content, str):
            return
        if parts is None or not isinstance(content, list):
            yield "content that is not a string"
            return
        for part in content:
            if part["type"] not in parts:
                yield f"a part {part['type']!r}"
            elif part["type"] in MEDIA and part["source"]["type"] not in sources:
                yield f"a source {part['source']['type']!r}"

    return rule


def only(members: dict[str, Collection[str]]) -> Rule:
    """No member but these, by event type."""

    def rule(event: Json) -> Iterator[str]:
        allowed = {"type", "timestamp", "rawEvent", *members[event["type"]]}
        yield from (f"the member {name!r}" for name in event if name not in allowed)

    return rule
