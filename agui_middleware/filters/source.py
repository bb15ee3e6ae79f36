"""The events that a filter reads, handed to it one at a time from outside.

A filter pulls (`async for event in events`), a server pushes. The two meet without a task and without a queue: the filter is
iterated by a coroutine of ours, which parks inside `EventSource` until somebody sends it the next event. So the filter runs
in the task of whoever pushes, and backpressure, cancellation and context variables are that task's own.

A parked filter is unwound by an exception that its source raises: in CPython, closing a parked `asend()` does not reach
the generator behind it.
"""

import logging
from collections.abc import Callable, Collection, Coroutine, Generator, Iterable, Mapping
from types import MappingProxyType, coroutine
from typing import Any, Final, TypeAlias

from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.protocol.event import Event

process_log: RateLimitedLog = RateLimitedLog(logging.getLogger("agui_middleware.filter"))

PARKED: Final = object()
"""What a parked source yields, where the event loop would expect a future."""
END: Final = object()
CLOSE: Final = object()

ATTEMPTS: Final = 2
"""A generator may read once more behind the end, or swallow one GeneratorExit. One that does it again would never end."""

Keep: TypeAlias = Callable[[Event], bool]
"""Keeps a token. Returns `False`, and has changed nothing, where there is no room for it."""
_NONE: Final[Mapping[str, Callable[[Event], Keep | None]]] = MappingProxyType({})


class EventSource:
    """The async iterator that a filter reads: each `anext` parks until an event is pushed.

    `skipped` is for filters that declare their types: the types that pass the filter by for now, as if it had not declared
    them. A filter that only cares for tokens while something is open costs the other tokens nothing (`filters/README.md`).

    `keepers`: by type of token, what is called for now with an event in place of resuming the filter. It gives what keeps
    the event, or `None` where the event passes. It promises what the `repeats` of `per_event` promise: the same becomes of
    each event that is alike. Where there is no room, the filter is resumed with the event, to close what it has open.

    `keep`: what `keepers` gave for the last event, if that was kept.

    `let_go`: called where a frame passes that cannot be read as an event. It gives the held-back events that leave in front
    of the frame, and the filter holds them no longer. All others are overtaken.
    """

    __slots__ = ("keep", "keepers", "let_go", "skipped")

    def __init__(self) -> None:
        self.skipped: Collection[str] = ()
        self.keepers: Mapping[str, Callable[[Event], Keep | None]] = _NONE
        self.keep: Keep | None = None
        self.let_go: Callable[[], Iterable[Event]] = tuple

    def __aiter__(self) -> "EventSource":
        return self

    @coroutine
    def __anext__(self) -> Generator[Any, Any, Event]:
        item: Any = yield PARKED
        if item is END:
            raise StopAsyncIteration
        if item is CLOSE:
            raise GeneratorExit
        return item  # type: ignore[no-any-return]  # all else that is pushed is an event


async def close_outputs(outputs: object) -> None:
    """Close what a filter has returned, whatever it is."""
    if isinstance(outputs, Coroutine):
        outputs.close()  # a filter that forgot to yield: not a generator
    close = getattr(outputs, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except RuntimeError as error:
        if "ignored GeneratorExit" not in str(error):
            raise
        report_late_yield()


def report_late_yield() -> None:
    """Log that a filter yielded while it was being closed."""
    process_log.log("late yield", logging.ERROR, "a filter yielded while it was being closed; what it yielded is lost")


def report_endless_filter() -> None:
    """Log that a filter cannot be closed."""
    process_log.log("endless", logging.ERROR, "a filter caught GeneratorExit and went on reading; it is abandoned")


def report_failed_close(error: Exception) -> None:
    """Log that a filter raised while it was being closed."""
    process_log.log(type(error).__name__, logging.ERROR, "a filter raised while it was being closed", exception=error)
