"""Several filters in a row, each driven by a pump of its own."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Each, Filter, logger
from agui_middleware.protocol.errors import run_error
from agui_middleware.protocol.event import Event, as_event
from agui_middleware.stream.pump import DONE, Pump

Emit = Callable[[Event], Awaitable[None]]
Rest = Callable[[], Awaitable[None]]
"""What is left to be done for an event, to be awaited unless it is `DONE`."""


class Chain:
    """Drives the filters of one response: events in by `push`, events out by `emit`, in the caller's task.

    A filter that raises (`failure` is set) has its successors read RUN_ERROR and the end in its place, so that what they
    keep open is closed. One that returns early (`ended`) has them read the end. Neither is given another event.
    `close` must be awaited once the response is over, for whatever reason.
    """

    __slots__ = ("_context", "_count", "_dead", "_each", "_emit", "_filters", "_next", "_pumps", "failure")

    def __init__(self, composition: Composition, context: Context, emit: Emit) -> None:
        self._filters = composition.filters
        self._next = composition.next
        self._context = context
        self._emit = emit
        # Of the filters that are started, each has an entry in one of the two.
        self._count = len(composition.filters)
        self._pumps: list[Pump[Event, Event] | None] = [None] * self._count
        self._each: list[Each | None] = [None] * self._count
        self._dead = -1  # the last filter that reads no more; what would reach it, or any before it, is dropped
        self.failure: Exception | None = None

    @property
    def ended(self) -> bool:
        """Whether the chain takes no more events, since one of its filters has returned or raised."""
        return self._dead >= 0

    async def start(self) -> None:
        """Run the filters up to their first event; those that declare their types wait until one of these comes."""
        for index, filter in enumerate(self._filters):
            started = self._pumps[index] is not None  # by what a filter before it has yielded already
            if not (started or hasattr(filter, "handles") or index <= self._dead):
                await self._start(index)

    def push(self, event: Event) -> Awaitable[None]:
        """Hand one event to the filters, at once; `DONE` where they have asked for the next one."""
        try:
            return self._emitted(self.walk(event))
        except Exception as error:
            return self._fail(self._count - 1, error)

    def walk(self, event: Event, index: int = 0) -> Event | Rest | None:
        """Take an event as far as it comes without a generator: to the end, for the caller to emit, or to where it is
        dropped, which is `None`. Otherwise the rest of its way is given back.
        """
        if index <= self._dead:
            return None
        type_ = event.head.type
        while (index := self._next[index][type_]) < self._count:
            each = self._each[index]
            if each is None:
                pump = self._pumps[index]
                if pump is None:
                    return partial(self._start_with, index, event)
                if type_ not in pump.source.overlooked:
                    return partial(self._push, index, pump, event)
            else:
                try:
                    passed = each(event)
                except Exception as error:
                    return partial(self._fail, index, error)
                if passed is None:
                    return None
                if passed is not event:
                    event, type_ = passed, passed.head.type
            index += 1
        return event

    async def fail(self, error: Exception) -> None:
        """The source failed: all filters read RUN_ERROR and the end, as the successors of a failing filter do."""
        await self._fail(self._dead, error)
        self._dead = self._count

    async def finish(self) -> None:
        """The source has ended: let every filter yield what it still holds."""
        await self._finish_from(0)
        self._dead = self._count

    async def close(self) -> None:
        """Unwind every filter, in order. What one of them raises meanwhile is logged, and the next one is unwound; so it is
        where the task is cancelled meanwhile, which is raised in the end.
        """
        stopped: BaseException | None = None
        for pump in self._pumps:
            if pump is not None:
                try:
                    await pump.close()
                except Exception:
                    logger.exception("a filter raised while it was being closed")
                except BaseException as error:
                    stopped = error
        if stopped is not None:
            raise stopped

    def _deliver(self, index: int, event: Any) -> Awaitable[None]:
        return self._emitted(self.walk(event if type(event) is Event else as_event(event), index))

    def _emitted(self, walked: Event | Rest | None) -> Awaitable[None]:
        if walked is None:
            return DONE
        return self._emit(walked) if isinstance(walked, Event) else walked()

    def _push(self, index: int, pump: Pump[Event, Event], event: Event) -> Awaitable[None]:
        if pump.done:
            return DONE
        try:
            step = pump.push(event)
        except Exception as error:
            return self._fail(index, error)
        return DONE if step is DONE and not pump.done else self._guard(index, pump, step)

    def _leave(self, event: Any) -> Awaitable[None]:
        return self._emit(event if type(event) is Event else as_event(event))

    async def _start_with(self, index: int, event: Event) -> None:
        await self._start(index)
        try:
            await self._deliver(index, event)
        except Exception as error:  # of an event that cannot be written; every stage guards its own
            await self._fail(self._count - 1, error)

    async def _start(self, index: int) -> None:
        filter, later = self._filters[index], index + 1
        if hasattr(filter, "each"):
            self._each[index] = filter.each(self._context)
            return
        deliver = self._leave if later == self._count else partial(self._deliver, later)
        pump: Pump[Event, Event] = Pump(partial(_apply, filter, self._context), deliver)
        pump.source.dozes = hasattr(filter, "handles") and filter.handles.dozes
        self._pumps[index] = pump
        await self._guard(index, pump, pump.start())

    async def _guard(self, index: int, pump: Pump[Event, Event], step: Awaitable[None]) -> None:
        try:
            await step
        except Exception as error:
            await self._fail(index, error)
        else:
            if pump.done and index > self._dead:
                self._dead = index
                await self._finish_from(index + 1)

    async def _fail(self, index: int, error: Exception) -> None:
        self.failure = self.failure or error
        self._dead = max(self._dead, index)
        await self._deliver(self._dead + 1, run_error(error))
        await self._finish_from(self._dead + 1)

    async def _finish_from(self, index: int) -> None:
        for later in range(index, self._count):
            pump = self._pumps[later]
            if pump is not None and not pump.done and later > self._dead:
                await self._guard(later, pump, pump.finish())


def _apply(filter: Filter, context: Context, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    return filter(events, context)
