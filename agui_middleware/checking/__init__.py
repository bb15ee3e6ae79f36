"""`check`: whether a client reads a recorded stream, with the middleware and without."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from agui_middleware.checking.causes import Cause, Evidence, causes
from agui_middleware.checking.effect import Effect, effect
from agui_middleware.checking.misreadings import misreadings, sdk_misreadings
from agui_middleware.checking.recorded import Finding, Framing, Item, framing, is_ndjson, items_in
from agui_middleware.checking.refusals import MALFORMED, refusals
from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.producer_faults import REPAIR
from agui_middleware.filters.repair import repair
from agui_middleware.protocol.errors import WIRE_FAULTS, run_error
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.releases import ClientVersion

__all__ = ["Cause", "Finding", "Report", "Verdict", "check"]

REMEDIES: Final[dict[str, Filter]] = {REPAIR: repair}
"""Filters that are on no route by default, and may help where the middleware alone does not."""


class Verdict(StrEnum):
    """How a release reads a stream without the middleware."""

    READ = "read"
    MISREAD = "misread"
    REFUSED = "refused"


@dataclass(frozen=True)
class Report:
    """The result of `check`."""

    client: ClientVersion | None
    """The known release that the one asked for counts as, or that the SDK reads like; `None`: one newer than all of them."""
    events: int
    refused: list[Finding]
    """The events that the release refuses, the first of each kind, in order. The run ends at the first one."""
    misread: list[Finding]
    """The events that it reads differently from 1.0.0, likewise."""
    effect: Effect | None
    """The effect of the middleware on the stream; `None` if the middleware ends the run."""
    failure: Event | None = None
    """The RUN_ERROR with which the middleware ends the run, if it does."""
    helped: bool | None = None
    """Whether the release reads the rewritten stream; `None` if it reads the stream as it is."""
    remedies: list[str] = field(default_factory=list)
    """Filters with which it would read the stream, if it does not: `package.module:name`."""
    causes: list[Cause] = field(default_factory=list)
    """Usual causes of the findings. Without findings, causes of what the client drops without an error."""
    reader: Reader | None = None
    """The SDK that was asked for, judged as `client` and by the SDK's own rows; `None` for @ag-ui/client."""

    @property
    def verdict(self) -> Verdict:
        """The most severe finding."""
        return Verdict.REFUSED if self.refused else Verdict.MISREAD if self.misread else Verdict.READ


async def check(recording: bytes, client: ClientVersion | Reader | None, visibility: str = "auto") -> Report:
    """Report how `client` reads a recording, and what the middleware does to it with the `visibility` of a route.

    A recording is a stream of Server-Sent Events, or one JSON object a line. A release refuses what it rejects while it
    decodes an event, expands chunks or verifies the order of events; `None` stands for the newest release. Members that an
    old release merely ignores, such as metadata, are not reported. Another SDK is judged as the release that it reads like;
    events that its own rows change count as misread, too.

    Raises `ValueError` for an unknown `visibility`. A recording without an event gives a report of 0 events.
    """
    stream = _Stream(recording, counts_as(client), visibility)
    refused, misread = await stream.findings()
    report = Report(stream.client, len(stream.events), refused, misread, *await stream.effect(), reader=stream.reader)
    found = causes(Evidence(recording, stream.items, [*refused, *misread], stream.client))
    if report.verdict is Verdict.READ:
        return replace(report, causes=found)
    helped = await stream.helps(report.effect)
    remedies = [] if helped else [name for name, remedy in REMEDIES.items() if await stream.helped_by(remedy)]
    return replace(report, helped=helped, remedies=remedies, causes=found)


class _Stream:
    """One recording, for one known client."""

    def __init__(self, recording: bytes, client: ClientVersion | Reader | None, visibility: str) -> None:
        self.items = items_in(recording)
        self.events = [item.event for item in self.items if item.event is not None]
        self.reader = client if isinstance(client, Reader) else None
        self.client = client.release if isinstance(client, Reader) else client
        self._visibility = visibility
        framed = not is_ndjson(recording)
        self._framing = framing(recording, self.client, self.items) if framed else _of_lines(self.items)

    async def findings(self) -> tuple[list[Finding], list[Finding]]:
        """What the release refuses and what it misreads, in order."""
        read = [item for item in self.items if item.event is not None and item.place not in self._framing.unread]
        places = [item.place for item in read]
        events = [item.event for item in read if item.event is not None]
        refused = [f._replace(place=places[f.place]) for f in await refusals(events, self.client)]
        misread = [f._replace(place=places[f.place]) for f in await self._misreadings(events)]
        return _in_order([*self._framing.refused, *refused]), _in_order([*self._framing.misread, *misread])

    async def effect(self, filters: Sequence[Filter] = ()) -> tuple[Effect | None, Event | None]:
        """The effect of the middleware on the stream, or the RUN_ERROR with which it ends the run."""
        plan = make_plan(self.reader or self.client, self._visibility, filters=filters)
        read = [(item.event, item.too_deep) for item in self.items if item.event is not None]
        passing = {place for place, (_, too_deep) in enumerate(read) if too_deep}
        try:
            if plan.hides and passing:
                raise MalformedEvent("nested too deep")
            return await effect([event for event, _ in read], plan, passing), None
        except WIRE_FAULTS as error:
            return None, run_error(error)

    async def helps(self, made: Effect | None) -> bool:
        """Whether the release reads the rewritten stream. A frame that is meant as an event and is not JSON goes out as it
        came, and so does one that is nested too deep for the middleware, which clients read.
        """
        if made is None or any(item.fails for item in self.items):
            return False
        return not await refusals(made.events, self.client) and not await self._misreadings(made.events)

    async def _misreadings(self, events: Sequence[Event]) -> list[Finding]:
        own = [] if self.reader is None else await sdk_misreadings(events, self.reader)
        return [*await misreadings(events, self.client), *own]

    async def helped_by(self, remedy: Filter) -> bool:
        """Whether the release reads the rewritten stream if this filter is added."""
        made, _ = await self.effect([remedy])
        return await self.helps(made)


def _of_lines(items: list[Item]) -> Framing:
    """NDJSON has no framing; report lines that are not events."""
    failing = [item for item in items if item.event is None][:1]
    reason = "rejects what is not one JSON object with a `type`"
    return Framing([Finding(item.place, None, MALFORMED, reason, None) for item in failing], [], frozenset())


def _in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.place)
