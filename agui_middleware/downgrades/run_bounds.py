"""Events that begin and end runs, where runs are joined."""

from collections.abc import Iterator
from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.protocol.event import Event

_REQUIRED: Final = {
    "RUN_STARTED": ("threadId", "runId"),
    "RUN_FINISHED": ("threadId", "runId"),
    "RUN_ERROR": ("message",),
}


def may_be_dropped(event: Event) -> bool:
    """Whether a RUN_* event is well-formed. A malformed one is never dropped: the client is to reject it."""
    if not all(isinstance(event.get(name), str) for name in _REQUIRED[event.head.type]):
        return False
    timestamp = event.get("timestamp", 0)
    timed = isinstance(timestamp, int | float) and not isinstance(timestamp, bool)
    return timed and ("input" not in event or event.get_object("input") is not None)


class HeldEnd:
    """The end of a run, held back until it is known whether another run follows."""

    __slots__ = ("_context", "_event")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._event: Event | None = None

    def __bool__(self) -> bool:
        return self._event is not None

    def hold(self, event: Event) -> None:
        """Hold an event back. Raises `EventTooLarge`, see `Context.hold`."""
        self._context.hold(event)
        self._event = event

    def drop(self) -> None:
        """Forget the event that is held back."""
        for _ in self.let_go():
            pass

    def let_go(self) -> Iterator[Event]:
        """Yield the event that is held back, if there is one."""
        event, self._event = self._event, None
        if event is not None:
            self._context.release(event)
            yield event
