"""What a recorded stream is to a release of @ag-ui/client, with the middleware and without."""

from dataclasses import dataclass
from enum import StrEnum

from agui_middleware.checking.effect import Effect, effect
from agui_middleware.checking.misreadings import misreadings
from agui_middleware.checking.recorded import Finding, Unreadable, events_in, framing, is_ndjson
from agui_middleware.checking.refusals import refusals
from agui_middleware.config.plan import make_plan
from agui_middleware.protocol.errors import WIRE_FAULTS, run_error
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion, nearest_release

__all__ = ["Finding", "Report", "Unreadable", "Verdict", "check"]


class Verdict(StrEnum):
    """What becomes of a stream at a release, without the middleware."""

    READ = "read"
    MISREAD = "misread"
    REFUSED = "refused"


@dataclass(frozen=True)
class Report:
    """What `check` found."""

    client: ClientVersion | None
    """The known release that the one asked for counts as; `None`: one that reads everything."""
    events: int
    refused: list[Finding]
    """What the release refuses, the first event of each shape, in order: the run ends at the first."""
    misread: list[Finding]
    """What it reads otherwise than 1.0.0 does, in the same way."""
    effect: Effect | None
    """What the middleware makes of the stream; `None`: it ends the run."""
    failure: Event | None = None
    """The RUN_ERROR with which it does."""

    @property
    def verdict(self) -> Verdict:
        """The worst of what was found."""
        return Verdict.REFUSED if self.refused else Verdict.MISREAD if self.misread else Verdict.READ


async def check(recording: bytes, client: ClientVersion | None, visibility: str = "auto") -> Report:
    """What `client` makes of a recording, and what the middleware does with the `visibility` of a route.

    A recording is a stream of Server-Sent Events, or one JSON object a line. Told is what the table of downgrades knows:
    what every release refuses is not looked for, and neither is what an old one merely does not keep, such as metadata.
    Raises `Unreadable` where the recording holds what is no event.
    """
    client = None if client is None else nearest_release(client)
    events = events_in(recording)
    refused, misread = await refusals(events, client), await misreadings(events, client)
    if not is_ndjson(recording):
        in_frames = framing(recording, client, events)
        refused, misread = [*in_frames.refused, *refused], [*in_frames.misread, *misread]
    made: Effect | None = None
    failure: Event | None = None
    try:
        made = await effect(events, make_plan(client, visibility))
    except WIRE_FAULTS as error:
        failure = run_error(error)
    return Report(client, len(events), _in_order(refused), _in_order(misread), made, failure)


def _in_order(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: finding.place)
