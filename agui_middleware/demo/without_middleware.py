"""Finds the event at which a release of @ag-ui/client rejects a run without the middleware."""

from typing import NamedTuple

from agui_middleware.checking.refusals import refusals
from agui_middleware.downgrades.guard import TOLERANT, known_types
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion

KEPT = 20_000
"""How many events are checked at most; they are kept in memory."""

UNKNOWN_TYPE = "Invalid discriminator value. Expected 'TEXT_MESSAGE_START' | 'TEXT_MESSAGE_CONTENT' | …"
"""The start of the error of every release before 1.0.0 for an unknown event type; the known types follow."""


class Rejection(NamedTuple):
    """The event that ends a run, and why."""

    n: int
    """The number of the event, from 1."""
    type: str
    """Its type; empty for a frame that is not a valid event."""
    why: str
    """What the release does; completes the sentence "@ag-ui/client 0.0.58 …"."""
    since: str | None
    """The first release that reads the event; `None`: no release does."""
    message: str | None = None
    """The client's error message, if known."""


class Unprotected:
    """One stream without the middleware, as `client` reads it; `None` for a client that reads everything."""

    def __init__(self, client: ClientVersion | None) -> None:
        self._client = client
        # Releases that skip unknown types do not need the known ones.
        self._known = None if client is None or client >= TOLERANT else known_types(client)
        self._events: list[Event] = []
        self._numbers: list[int] = []
        self._reported = False

    async def take(self, n: int, event: Event) -> Rejection | None:
        """Take the next event; return the rejection of the run if the release does not know its type."""
        if self._reported or len(self._events) == KEPT:
            return None
        self._events.append(event)
        self._numbers.append(n)
        return await self.finish() if self._is_unknown(event) else None

    async def take_unreadable(self, n: int) -> Rejection | None:
        """Take a frame that is meant to be an event and is malformed; return the rejection of the run."""
        if self._reported:
            return None
        rejection = await self.finish() or Rejection(n, "", "rejects a malformed event, as every release does", None)
        self._reported = True
        return rejection

    async def finish(self) -> Rejection | None:
        """Return the rejection of the run by any event taken so far, unless it was returned before."""
        found = [] if self._reported else await refusals(self._events, self._client)
        if not found:
            return None
        self._reported = True
        place, _, _, why, since = found[0]
        n, event = self._numbers[place], self._events[place]
        self._numbers, self._events = [], []
        return Rejection(n, event.type, why, since, UNKNOWN_TYPE if self._is_unknown(event) else None)

    def _is_unknown(self, event: Event) -> bool:
        return self._known is not None and event.type not in self._known
