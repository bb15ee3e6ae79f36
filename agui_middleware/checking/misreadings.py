"""Streams that a release of @ag-ui/client reads to the end without the middleware, but differently from 1.0.0."""

from collections.abc import Sequence
from typing import Final

from agui_middleware.checking.misread_chunks import Piece, expanded, first_misplaced
from agui_middleware.checking.reader import READS_THINKING
from agui_middleware.checking.recorded import Finding
from agui_middleware.config.readers import Reader
from agui_middleware.downgrades import Downgrade, downgrades_for
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.drive import compose, run_filters

# Rows that change the events which are misread without them, and the types of those that tell so: all, or those that begin
# again what the row keeps open from its first end on. Not among them are rows that a client refuses without, those that take
# away what it does not look at, and those that only report what no rewriting can give it.
_ALL: Final = frozenset(EventType)
MISREAD_AS_CHANGED: Final[dict[str, frozenset[str]]] = {
    "activity-reasoning": _ALL,
    "activity-texts": _ALL,
    "activity-updates": _ALL,
    "binary-parts": _ALL,
    "call-parents": _ALL,
    "empty-state": _ALL,
    "lost-parents": _ALL,
    "patch-operations": _ALL,
    "predicted-state": _ALL,
    "raw-chunks": _ALL,
    "reopened-calls": frozenset({"TOOL_CALL_START"}),
    "reopened-texts": frozenset({"TEXT_MESSAGE_START"}),
    "streamed-messages": _ALL,
    "thinking": frozenset({"THINKING_TEXT_MESSAGE_START"}),
}


async def misreadings(events: Sequence[Event], client: ClientVersion | None) -> list[Finding]:
    """The events that `client` misreads, the first of each feature, in the order of the stream.

    `client` is one of `RELEASES`, or `None` for one that reads everything.
    """
    if client is None:
        return []
    pieces = await expanded(events, client)
    found = []
    for row in downgrades_for(client):
        place = await _first_misread(pieces, row, client)
        if row.name == "chunks":
            place = await first_misplaced(events, client)
        if place is not None:
            found.append(Finding(place, events[place], row.name, row.symptom, row.fixed_in))
    return sorted(found, key=lambda finding: finding.place)


async def sdk_misreadings(events: Sequence[Event], reader: Reader) -> list[Finding]:
    """The events that another SDK misreads in addition to its release: the first one that each of its own rows changes.

    The rows are written for an SDK as a whole, to be on the safe side: its decoder may read some of these events.
    """
    pieces = await expanded(events, reader.release)
    found = []
    chunk = next((place for place, event in enumerate(events) if event.type in ID_OF), None)
    if chunk is not None:
        found.append(Finding(chunk, events[chunk], "chunks", "loses chunks, as most SDKs do", None))
    for row in reader.own_rows:
        place = None if row.filter is None else await _first_changed(pieces, row.filter, reader.release)
        if place is not None:
            found.append(Finding(place, events[place], row.name, row.symptom, None))
    return sorted(found, key=lambda finding: finding.place)


async def _first_misread(pieces: Sequence[Piece], row: Downgrade, client: ClientVersion) -> int | None:
    types = MISREAD_AS_CHANGED.get(row.name)
    if types is None or row.filter is None or (row.name == "thinking" and client in READS_THINKING):
        return None
    return await _first_changed(pieces, row.filter, client, types)


async def _first_changed(
    pieces: Sequence[Piece], filter: Filter, client: ClientVersion, types: frozenset[str] = _ALL
) -> int | None:
    """The place of the first event of `types` that a filter changes."""
    left = await run_filters([piece.event for piece in pieces], compose(filter), Context(client))
    changed = (p.place for p, out in zip(pieces, left, strict=False) if out != [p.event] and p.event.type in types)
    return next(changed, None)
