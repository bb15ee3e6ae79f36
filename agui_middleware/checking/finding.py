"""What is told of a recorded stream."""

from typing import NamedTuple

from agui_middleware.event import Event


class Finding(NamedTuple):
    """One event that a release of @ag-ui/client cannot read as it was meant."""

    place: int
    """Where it is in the stream, from 0."""
    event: Event | None
    """`None`: the stream holds no event there."""
    shape: str
    """`unknown-types`, `framing`, or the name of a row of `DOWNGRADES`."""
    why: str
    """What such a release does, to complete the sentence "@ag-ui/client 0.0.58 ..."."""
    since: str | None
    """The first release that reads it; `None`: none does."""
