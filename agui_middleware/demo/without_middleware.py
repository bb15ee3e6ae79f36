"""At which event a release of @ag-ui/client gives a run up, where no middleware is in between."""

from typing import NamedTuple

from agui_middleware.checking.refusals import refusals
from agui_middleware.downgrades.guard import TOLERANT, known_types
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion

KEPT = 20_000
"""How many events are looked at, and kept for that."""

UNKNOWN_TYPE = "Invalid discriminator value. Expected 'TEXT_MESSAGE_START' | 'TEXT_MESSAGE_CONTENT' | …"
"""How every release before 1.0.0 puts it that it does not know an event's type; the types that it knows follow."""


class Rejection(NamedTuple):
    """What ends a run."""

    n: int
    """The number of the event, from 1."""
    type: str
    """Its type; empty where the event is none."""
    why: str
    """What the release does; completes the sentence "@ag-ui/client 0.0.58 ..."."""
    since: str | None
    """The first release that does not; `None`: all do."""
    message: str | None = None
    """The client's own words, where they are known."""


class Unprotected:
    """One stream as it came, in the eyes of one release; `None` reads everything."""

    def __init__(self, client: ClientVersion | None) -> None:
        self._client = client
        # What reads types that it does not know has no need of them.
        self._known = None if client is None or client >= TOLERANT else known_types(client)
        self._events: list[Event] = []
        self._numbers: list[int] = []
        self._told = False

    async def take(self, n: int, event: Event) -> Rejection | None:
        """The rejection of the run, where `event`, the next of its stream, is of a type that the release does not know."""
        if self._told or len(self._events) == KEPT:
            return None
        self._events.append(event)
        self._numbers.append(n)
        return await self.finish() if self._is_unknown(event) else None

    async def take_unreadable(self, n: int) -> Rejection | None:
        """The same for what tries to be an event and fails."""
        if self._told:
            return None
        rejection = await self.finish() or Rejection(n, "", "rejects what is no event, as every release does", None)
        self._told = True
        return rejection

    async def finish(self) -> Rejection | None:
        """The rejection of the run by any event that was taken, unless it was told before."""
        found = [] if self._told else await refusals(self._events, self._client)
        if not found:
            return None
        self._told = True
        place, _, _, why, since = found[0]
        n, event = self._numbers[place], self._events[place]
        self._numbers, self._events = [], []
        return Rejection(n, event.type, why, since, UNKNOWN_TYPE if self._is_unknown(event) else None)

    def _is_unknown(self, event: Event) -> bool:
        return self._known is not None and event.type not in self._known
