"""The expansion of chunks by a release of @ag-ui/client itself, one event at a time."""

from typing import Final

from agui_middleware.checking.sequence import Refusal
from agui_middleware.protocol.chunk_lanes import ID_OF, PARENT, Lane, Lanes
from agui_middleware.protocol.event import UNSET, Event
from agui_middleware.protocol.releases import ClientVersion

FIRST_WITH_LANES: Final = ClientVersion(0, 0, 59)
_FIRST_WITH_CONFLICTS: Final = ClientVersion(1, 0, 0)


class ClientChunks:
    """The expansion of one release, for one stream. Before 0.0.59 it has one lane for all subagents."""

    def __init__(self, client: ClientVersion) -> None:
        self._client = client
        self._lanes = Lanes()

    def take(self, event: Event) -> list[Event] | Refusal:
        """Expand `event`. An event that is not a chunk is returned after the END events of the lanes that it closes."""
        seen = event if self._client >= FIRST_WITH_LANES else event.untagged()
        if event.type not in ID_OF:
            return [*map(_end, self._lanes.close(seen)), event]
        return self._expanded(self._identified(seen))

    def _identified(self, chunk: Event) -> Event:
        """Before 0.0.59, a reasoning chunk with an empty id continues the open reasoning message, if there is one."""
        held = self._lanes.open.get(PARENT)
        if self._client >= FIRST_WITH_LANES or chunk.head.messageId != "" or held is None:
            return chunk
        continues = chunk.type == held.type == "REASONING_MESSAGE_CHUNK"
        return chunk.without("messageId") if continues else chunk

    def _expanded(self, chunk: Event) -> list[Event] | Refusal:
        try:
            taken = self._lanes.take(chunk)
        except LookupError as error:
            return Refusal(f"rejects {chunk.type}: {error.args[0]}", "chunks")
        if taken is None:
            needs = "id and a `toolCallName`" if chunk.type == "TOOL_CALL_CHUNK" else "id"
            return Refusal(f"rejects a {chunk.type} that continues nothing and has no {needs}", "chunks")
        lane = taken.lane
        if not taken.opened and self._client >= _FIRST_WITH_CONFLICTS and (others := lane.contradicted_by(chunk)):
            said = " and ".join(f"`{name}`" for name in others)
            return Refusal(f"rejects a {chunk.type} whose {said} is not that of the chunk it continues", "chunks")
        pieces = [] if taken.closed is None else [_end(taken.closed)]
        pieces += [_piece(lane, "_START", chunk.head.subagentRunId, lane.start_members)] if taken.opened else []
        if self._has_content(chunk, bare=not pieces):
            tag = chunk.head.subagentRunId
            pieces.append(_piece(lane, _CONTENT[lane.type], tag if isinstance(tag, str) else lane.tag))
        return pieces

    def _has_content(self, chunk: Event, *, bare: bool) -> bool:
        carried = {"delta"}
        if self._client >= FIRST_WITH_LANES and bare:
            carried.add("metadata")
        if self._client >= _FIRST_WITH_CONFLICTS and chunk.get("rawEvent") is not None:
            carried.add("rawEvent")
        return any(name in chunk for name in carried)


_CONTENT: Final = {
    "TEXT_MESSAGE_CHUNK": "_CONTENT",
    "TOOL_CALL_CHUNK": "_ARGS",
    "REASONING_MESSAGE_CHUNK": "_CONTENT",
}


def _piece(lane: Lane, ending: str, tag: object, members: dict[str, object] | None = None) -> Event:
    tagged = {"subagentRunId": tag} if tag is not UNSET else {}
    return Event(type=lane.type.replace("_CHUNK", ending), **{ID_OF[lane.type]: lane.id}, **tagged, **(members or {}))


def _end(lane: Lane) -> Event:
    return _piece(lane, "_END", lane.tag)
