"""What a release of @ag-ui/client refuses in a stream, without the middleware: which event, and why.

A client decodes an event, expands chunks, and verifies the order of what it has; the first event that fails in any of these
ends the run. Told is what the table of downgrades knows, so the answer is about valid AG-UI: what every release refuses, a
text without its start for one, is nobody's downgrade and not looked for.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from agui_middleware.checking.misread_chunks import Piece, expanded
from agui_middleware.checking.recorded import Finding
from agui_middleware.checking.rules import DECODED, DECODED_AS_CHANGED, VERIFIED, VERIFIED_AS_CHANGED
from agui_middleware.downgrades import Downgrade, downgrades_for
from agui_middleware.downgrades.guard import KNOWN_SINCE, TOLERANT, known_types
from agui_middleware.filters.contract import Context
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.drive import compose, run_filters

_FIRST_WITH_ECHO: Final = ClientVersion(0, 0, 41)


async def refusals(events: Sequence[Event], client: ClientVersion | None) -> list[Finding]:
    """What `client` refuses, the first event of each shape, in the order of the stream.

    The run ends at the first; the others are what it would end at next. `client` is one of `RELEASES`, or `None` for one
    that reads everything.
    """
    if client is None:
        return []
    decoded = [Piece(place, event) for place, event in enumerate(events)]
    verified = await expanded(events, client)
    found = list(_unknown_types(events, client))
    for row in downgrades_for(client):
        pieces = decoded if row.name in DECODED or row.name in DECODED_AS_CHANGED else verified
        place = await _first_refused(pieces, client, row)
        if place is not None:
            found.append(Finding(place, events[place], row.name, row.symptom, row.fixed_in))
    return sorted(found, key=lambda finding: finding.place)


def _unknown_types(events: Sequence[Event], client: ClientVersion) -> Iterator[Finding]:
    if client >= TOLERANT:
        return
    told = set(known_types(client))
    for place, event in enumerate(events):
        if event.type not in told:
            told.add(event.type)
            since = KNOWN_SINCE.get(event.type, str(TOLERANT))
            yield Finding(place, event, "unknown-types", "rejects events of a type that it does not know", since)


async def _first_refused(pieces: Sequence[Piece], client: ClientVersion, row: Downgrade) -> int | None:
    rule = DECODED.get(row.name) or VERIFIED.get(row.name)
    if rule is not None:
        refuses = rule(client)
        return next((piece.place for piece in pieces if refuses(piece.event)), None)
    if row.filter is None or row.name not in DECODED_AS_CHANGED | VERIFIED_AS_CHANGED:
        return None
    left = await run_filters([piece.event for piece in pieces], compose(row.filter), Context(client))
    changed = (piece for piece, out in zip(pieces, left, strict=False) if out != [piece.event])
    return next((piece.place for piece in changed if not _is_ignored(piece.event, client)), None)


def _is_ignored(event: Event, client: ClientVersion) -> bool:
    """Whether nothing that an event carries is looked at: the input echo, before 0.0.41."""
    return event.type == "RUN_STARTED" and client < _FIRST_WITH_ECHO
