"""The projections of the differences in which messages there are, and what stands in which of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agui_middleware.downgrades import Difference
from tests.downgrades.cases import Case
from tests.downgrades.projections import End, drop, projects
from tests.strategies import Json


@projects(Difference.EMPTY_CONTENT)
def _empty_content(end: End, _: Case) -> None:
    for message in end.messages:
        if message["role"] == "assistant" and message.get("content") == "":
            del message["content"]


@projects(Difference.FINISHED_CALLS)
def _finished_calls(end: End, case: Case) -> None:
    if end.original:
        finished = _Finished(case)
        for call in _calls(end):
            function = call["function"]
            function["name"] = finished.names.get(call["id"], function["name"])
            function["arguments"] = function["arguments"].removesuffix(finished.added.get(call["id"], ""))


class _Finished:
    """What a stream adds to tool calls that it has finished, and the names that they had first."""

    def __init__(self, case: Case) -> None:
        self.names: dict[str, str] = {}
        self.added: dict[str, str] = {}
        self._open: set[str] = set()
        self._finished: set[str] = set()
        self._failed = False
        for event in case.expanded:
            self._take(event)

    def _take(self, event: Json) -> None:
        id = event.get("toolCallId", "")
        match event["type"]:
            case "TOOL_CALL_START":
                self._open.add(id)
                self.names.setdefault(id, event["toolCallName"])
            case "TOOL_CALL_ARGS" if id in self._finished:
                self.added[id] = self.added.get(id, "") + event["delta"]
            case "TOOL_CALL_END":
                self._open.discard(id)
            case "TOOL_CALL_RESULT" if id in self.names and id not in self._open:
                self._finished.add(id)
            case "RUN_FINISHED" | "RUN_ERROR":
                self._failed = event["type"] == "RUN_ERROR"
                self._finished |= set() if self._failed else self.names.keys()
            case "RUN_STARTED":
                self._begin(event.get("input", {}).get("messages", []))
            case "MESSAGES_SNAPSHOT":
                self._restate(event["messages"])

    def _begin(self, echo: list[Json]) -> None:
        if self._failed and echo:  # else the failed run is continued
            self._finished |= self.names.keys()
        self._open.clear()
        self._learn(echo)

    def _restate(self, messages: list[Json]) -> None:
        restated = {call["id"] for message in messages for call in message.get("toolCalls", ())}
        for id in self.names.keys() - restated:
            del self.names[id]
            self._finished.discard(id)
        for id in restated:
            self.added.pop(id, None)
        going_on = self.names.keys() - self._finished
        self.names.clear()
        self._learn(messages)
        self._finished -= going_on

    def _learn(self, messages: Iterable[Mapping[str, Any]]) -> None:
        for message in messages:
            for call in message.get("toolCalls", ()):
                if call["id"] not in self.names:
                    self.names[call["id"]] = call["function"]["name"]
                    self._finished.add(call["id"])


def _calls(end: End) -> Iterator[Json]:
    for message in end.messages:
        yield from message.get("toolCalls", ())


@projects(Difference.WITHOUT_REVIVED)
def _without_revived(end: End, case: Case) -> None:
    open: set[Any] = set()
    deleted: set[Any] = set()
    revived: set[Any] = set()
    for event in case.expanded:
        id = event.get("messageId")
        match event["type"]:
            case "TEXT_MESSAGE_START":
                open.add(id)
            case "TEXT_MESSAGE_END":
                open.discard(id)
            case "TEXT_MESSAGE_CONTENT" if id in deleted & open:
                revived.add(id)
            case "MESSAGES_SNAPSHOT":
                deleted = (deleted | open) - {message["id"] for message in event["messages"]}
    for message in end.messages:
        if message["id"] in revived:
            message.pop("content", None)


@projects(Difference.IN_PIECES)
def _in_pieces(end: End, case: Case) -> None:
    """Put the pieces together: a message in the place of its first, a tool call in the message of its first.

    Where a call has the id of another message, a snapshot makes two copies of that message.
    """
    restated = {message["id"] for event in case.events for message in event.get("messages", ())}
    copied = restated & {event.get("toolCallId") for event in case.events}
    whole: dict[str, Json] = {}
    for message in list(end.messages):
        first = whole.setdefault(message["id"], message)
        if first is not message and {first["role"], message["role"]} != {"tool"}:
            own = any(call["id"] == message["id"] for call in message.get("toolCalls", ()))
            if message != first or message["id"] not in copied or own:
                _append(first, message)
            end.messages = [other for other in end.messages if other is not message]
    calls: dict[str, Json] = {}
    for message in list(end.messages):
        if "toolCalls" in message:
            message["toolCalls"] = [call for call in message["toolCalls"] if not _continues(call, calls)]
            if not message["toolCalls"]:
                _empty_calls(end, message)


def _append(first: Json, piece: Json) -> None:
    if isinstance(piece.get("content"), str) and isinstance(first.get("content", ""), str):
        first["content"] = first.get("content", "") + piece["content"]
    if "toolCalls" in piece:
        first["toolCalls"] = [*first.get("toolCalls", ()), *piece["toolCalls"]]


def _continues(call: Json, calls: dict[str, Json]) -> bool:
    """Whether it is a piece of a call that is known; that gets its name and its arguments."""
    first = calls.setdefault(call["id"], call)
    if first is call:
        return False
    first["function"]["name"] = call["function"]["name"]
    first["function"]["arguments"] += call["function"]["arguments"]
    return True


def _empty_calls(end: End, message: Json) -> None:
    del message["toolCalls"]
    if message["role"] == "assistant" and not message.get("content"):
        end.messages = [other for other in end.messages if other is not message]


@projects(Difference.OTHER_HOLDERS)
def _other_holders(end: End, _: Case) -> None:
    """Put the tool calls behind all messages, by their ids; an assistant's message that says nothing else goes."""
    calls = sorted(_calls(end), key=lambda call: str(call["id"]))
    for message in end.messages:
        message.pop("toolCalls", None)
    end.messages = [message for message in end.messages if message["role"] != "assistant" or message.get("content")]
    end.messages += [{"id": f"call {call['id']}", "role": "assistant", "toolCalls": [call]} for call in calls]


@projects(Difference.WITHOUT_OTHER_ROLES)
def _without_other_roles(end: End, case: Case) -> None:
    streamed = {event.get("messageId") for event in case.events if event["type"].startswith("TEXT_MESSAGE_")}
    roles = ("user", "system", "developer")
    drop(end, {message["id"] for message in end.messages if message["role"] in roles} & streamed, case)
