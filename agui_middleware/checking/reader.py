"""A model of one release of @ag-ui/client: how it decodes, expands chunks and verifies."""

import json
from functools import cached_property
from typing import Any, Final

from agui_middleware.checking.client_chunks import ClientChunks
from agui_middleware.checking.kinds import FIRST_THAT_SKIPS, MISSING, SAFE_INTEGER, Fault
from agui_middleware.checking.schemas import first_fault, schemas_of
from agui_middleware.checking.sequence import Refusal, Sequence, named, printable
from agui_middleware.checking.shallow import shallow
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion

READS_THINKING: Final = (ClientVersion(0, 0, 45), ClientVersion(1, 0, 0))
"""The releases that read THINKING_* events as reasoning."""

_FIRST_WITHOUT_CHANGES: Final = ClientVersion(0, 0, 34)
_CHANGES: Final = frozenset(
    {"TEXT_MESSAGE_START", "TOOL_CALL_START", "STATE_SNAPSHOT", "STATE_DELTA", "MESSAGES_SNAPSHOT"}
)
_REASONING: Final = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}


class Received:
    """An event as a client receives it, decoded once for all releases."""

    def __init__(self, event: Event) -> None:
        self.event = event

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The members as JavaScript decodes them: every number is a float."""
        try:
            return _loads(self.event.raw)  # type: ignore[no-any-return]  # one object, as `Event.parse` has seen
        except RecursionError:
            return _loads(shallow(self.event.raw))  # type: ignore[no-any-return]  # as above


def _loads(raw: bytes) -> Any:
    return json.loads(raw.decode("utf-8", "replace"), parse_int=float)


class Reader:
    """One release, for one stream."""

    def __init__(self, client: ClientVersion) -> None:
        self._client = client
        self._known = schemas_of(client)
        self._chunks = ClientChunks(client)
        self._sequence = Sequence(client)
        self._spans = 0
        self._thinking: dict[str, str] = {}  # REASONING_START or REASONING_MESSAGE_START -> the id that it was given
        self._changed = False

    def take(self, received: Received) -> Refusal | None:
        """Return why the next event is rejected, or `None`. A real client ends the run at a rejected event."""
        event = received.event
        if event.type not in self._known:
            skipped = self._client >= FIRST_THAT_SKIPS and event.type != ""
            return None if skipped else Refusal("rejects events of a type that it does not know", "unknown-types")
        fault = first_fault(event.type, received.plain, self._client)
        if fault is not None:
            self._sequence.skip(event)
            return Refusal(reason(event.type, fault), row_of(event.type, fault))
        pieces = self._chunks.take(self._translated(event))
        if isinstance(pieces, Refusal):
            return pieces
        found = [self._sequence.take(piece) for piece in pieces]
        self._changed = self._changed or any(piece.type in _CHANGES for piece in pieces)
        return next(filter(None, found), None)

    def finish(self) -> Refusal | None:
        """Return why the stream is rejected at its end, or `None`."""
        if self._changed or self._client >= _FIRST_WITHOUT_CHANGES:
            return None
        return Refusal("rejects a run that changes neither messages nor state", "unchanged-runs")

    def _translated(self, event: Event) -> Event:
        """Turn THINKING_* into REASONING_* with a generated id, in the releases that do so."""
        if self._client not in READS_THINKING or event.type not in _REASONING:
            return event
        type = _REASONING[event.type]
        start = "REASONING_START" if type in ("REASONING_START", "REASONING_END") else "REASONING_MESSAGE_START"
        if type == start:
            self._thinking[start] = ""
        if not self._thinking.get(start):
            self._spans += 1
            self._thinking[start] = f"thinking {self._spans}"
        id = self._thinking[start]
        if type.endswith("_END"):
            del self._thinking[start]
        return event.replace(type=type, messageId=id)


def reason(type: str, fault: Fault) -> str:
    """Describe a fault."""
    if fault.value is MISSING:
        return f"rejects a {printable(type)} without `{fault.path}`; it takes {fault.expected}"
    return f"rejects a {printable(type)} whose `{fault.path}` is {_described(fault.value)}; it takes {fault.expected}"


def _described(value: object) -> str:
    match value:
        case None | True | False:
            return json.dumps(value)
        case str():
            return f"the string {named(value)}"
        case float():
            return f"the number {value:.17g}" if abs(value) <= SAFE_INTEGER else "a number beyond 2^53"
        case list():
            return "a list" if value else "an empty list"
    return "an object"


_ROW_OF_TAG: Final = {
    "activity": "activities",
    "reasoning": "reasoning-messages",
    "cancelled": "outcomes",
    "file": "file-sources",
    **dict.fromkeys(("image", "audio", "video", "document"), "media-parts"),
}


def row_of(type: str, fault: Fault) -> str:
    """The row of `DOWNGRADES` that a fault may be about; empty for none."""
    path, value = fault.path, fault.value
    last = path.rpartition(".")[2]
    if last.startswith("outcome") or path.startswith("outcome."):
        return "outcomes"
    if last == "content" and isinstance(value, list):
        return "result-parts" if type == "TOOL_CALL_RESULT" else "user-parts"
    if path in ("input.tools", "input.context") and value is MISSING:
        return "input-lists"
    if last == "role" and type in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK"):
        return "text-roles"
    if last in ("role", "type") and isinstance(value, str):
        return _ROW_OF_TAG.get(value, "unknown-members")
    rows = {"delta": "empty-deltas", "parentMessageId": "null-parents", "title": "thinking"}
    return rows.get(last, "binary-parts" if "content[" in last else "")
