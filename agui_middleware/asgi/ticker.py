"""One timer for all responses of an event loop, however many there are: a place in it is all that a response costs."""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextvars import Context
from typing import Protocol

CallLater = Callable[[AbstractEventLoop, float, Callable[[], None]], object]


class Ticked(Protocol):
    """A response that is looked at now and then."""

    def tick(self) -> None:
        """Look at it."""
        ...


def call_later(loop: AbstractEventLoop, seconds: float, callback: Callable[[], None]) -> None:
    """Set a timer of the event loop."""
    # In a context of its own: the timer outlives the response that sets it, whose context may hold anything.
    loop.call_later(seconds, callback, context=Context())


class Ticker:
    """Calls `tick` of its responses every `seconds`, as long as there are some. A tick that finds none is the last."""

    __slots__ = ("_call_later", "_seconds", "_ticks", "loop", "responses")

    def __init__(self, loop: AbstractEventLoop, seconds: float, call_later: CallLater) -> None:
        self.loop: AbstractEventLoop = loop
        self.responses: dict[Ticked, None] = {}  # a set, in order
        self._seconds = seconds
        self._call_later = call_later
        self._ticks = False

    def add(self, response: Ticked) -> bool:
        """Return whether the first tick comes in `seconds`: it comes earlier where others have set the timer."""
        self.responses[response] = None
        if self._ticks:
            return False
        self._ticks = True
        self._call_later(self.loop, self._seconds, self._tick)
        return True

    def _tick(self) -> None:
        for response in [*self.responses]:
            response.tick()
        self._ticks = bool(self.responses)
        if self._ticks:
            self._call_later(self.loop, self._seconds, self._tick)
