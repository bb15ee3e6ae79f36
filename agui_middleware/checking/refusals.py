"""The events that a release of @ag-ui/client refuses without the middleware, why, and which release accepts them.

The first refusal ends the run. A later one would end it once the earlier ones are mended: each event is judged as if the
refused events before it were not in the stream.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from agui_middleware.checking.reader import Reader, Received
from agui_middleware.checking.recorded import Finding
from agui_middleware.checking.schemas import EVENTS, versions_of
from agui_middleware.checking.sequence import Refusal
from agui_middleware.checking.verified_entities import LIFECYCLES
from agui_middleware.downgrades import downgrades_for
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import RELEASES, ClientVersion

MALFORMED: Final = "malformed"
"""The feature of a finding that no downgrade covers: a value or an order of events that AG-UI does not allow."""

_OTHER_CHANGES: Final = frozenset({ClientVersion(0, 0, 37), ClientVersion(0, 0, 45), ClientVersion(0, 0, 46)})
"""Releases that change an order of events: several entities at a time, and how THINKING_* is read."""


class Refused(NamedTuple):
    """One event that a release refuses."""

    place: int
    refusal: Refusal


async def refusals(events: Sequence[Event], client: ClientVersion | None) -> list[Finding]:
    """The events that `client` refuses, the first of each kind, in the order of the stream.

    `client` is one of `RELEASES`, or `None` for the newest of them.
    """
    stream = [Received(event) for event in events]
    release = RELEASES[-1] if client is None else client
    found = list(_first_of_each_kind(events, _refused(stream, release)))
    fixed = _fixed_in(stream, release, {place for place, _ in found})
    return [_finding(events, release, refused, fixed.get(refused.place)) for refused in found]


def _refused(stream: Sequence[Received], client: ClientVersion) -> Iterator[Refused]:
    reader = Reader(client)
    for place, received in enumerate(stream):
        if (refusal := reader.take(received)) is not None:
            yield Refused(place, refusal)
    if stream and (refusal := reader.finish()) is not None:
        yield Refused(len(stream) - 1, refusal)


def _first_of_each_kind(events: Sequence[Event], found: Iterator[Refused]) -> Iterator[Refused]:
    seen: set[tuple[str, str, str]] = set()
    for place, refusal in found:
        type = events[place].type
        kind = (refusal.feature, "", "") if refusal.feature in _ONE_KIND else (refusal.feature, type, refusal.reason)
        if kind not in seen:
            seen.add(kind)
            yield Refused(place, refusal)


_ONE_KIND: Final = frozenset(
    {"chunks", "interleaving", "several-runs", "runs-after-error", "nested-steps", "subagents"}
)
"""The key under which a refusal is reported once: one such event usually causes others of its kind."""


@cache
def _changes() -> frozenset[ClientVersion]:
    """The releases that accept something else than the one before."""
    return versions_of(EVENTS.values()) | {one.verified_since for one in LIFECYCLES} | _OTHER_CHANGES


def _fixed_in(stream: Sequence[Received], client: ClientVersion, places: set[int]) -> dict[int, str]:
    """For each place, the first later release that accepts the event there."""
    fixed: dict[int, str] = {}
    for release in RELEASES:
        if release > client and release in _changes() and (open := places - fixed.keys()):
            refused = {place for place, _ in _refused(stream[: max(open) + 1], release)}
            fixed.update(dict.fromkeys(open - refused, str(release)))
    return fixed


def _finding(events: Sequence[Event], client: ClientVersion, refused: Refused, fixed: str | None) -> Finding:
    place, refusal = refused
    known = {"unknown-types", *(row.name for row in downgrades_for(client))}
    feature = refusal.feature if fixed is not None and refusal.feature in known else MALFORMED
    return Finding(place, events[place], feature, refusal.reason, fixed)
