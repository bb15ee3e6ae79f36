"""Push in, pull out, for filters that may await: drives an async generator in the task that pushes.

No task, no queue and no buffer: a push runs the generator until it asks for an event that has not come, and returns. So
backpressure, cancellation and context variables are those of the task that pushes, and real awaits inside the generator pass
through to its event loop, asyncio or trio. A task and a memory object stream instead would cost about 15 µs an event.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import Any

from agui_middleware.filters.source import (
    ATTEMPTS,
    CLOSE,
    END,
    PARKED,
    EventSource,
    close_outputs,
    report_endless_filter,
    report_late_yield,
)


class Pump:
    """Drives `transform` over the events given to `push`, and passes each event that it yields to `deliver` at once.

    Every method raises what the generator raises, after which the pump is `done`. One call at a time. `close` may follow
    at any point, also after an exception or a cancellation, and any number of times.
    """

    __slots__ = ("_closing", "_coroutine", "_deliver", "_stopped", "_transform", "done", "source")

    def __init__(
        self, transform: Callable[[Any], AsyncIterator[Any]], deliver: Callable[[Any], Awaitable[None]]
    ) -> None:
        self._transform = transform
        self._deliver = deliver
        self._coroutine: Coroutine[Any, Any, None] | None = None
        self._closing = False
        self._stopped = False
        self.source: EventSource = EventSource()
        self.done: bool = False  # the generator has ended, by itself or by an exception

    @property
    def started(self) -> bool:
        """Whether `start` has been called."""
        return self._coroutine is not None

    async def start(self) -> None:
        """Run the generator up to its first request for an event. Comes before everything but `close`."""
        self._coroutine = self._drain()
        await self.push(None)

    @coroutine
    def push(self, item: Any) -> Generator[Any, Any, None]:
        """Pass `item` to the generator, and let the event loop wait for what the generator awaits."""
        assert self._coroutine is not None  # `start` came first
        try:
            waiting: Any = self._coroutine.send(item)
            while waiting is not PARKED:
                try:
                    reply = yield waiting
                except BaseException as error:
                    waiting = self._coroutine.throw(error)
                else:
                    try:
                        waiting = self._coroutine.send(reply)
                    finally:
                        del reply  # trio's holds an exception, whose traceback has this frame: a reference cycle
        except StopIteration:
            self.done = True
        except BaseException:
            self.done = True
            raise

    async def finish(self) -> None:
        """Tell the generator that its source has ended; it may still yield. `done` afterwards."""
        for _ in range(ATTEMPTS):
            if not self.done:
                await self.push(END)
        await self.close()

    def stop(self) -> None:
        """Unwind the generator as soon as `deliver` returns: its output is no longer used."""
        self._stopped = True

    async def close(self) -> None:
        """Unwind the generator: its `finally` blocks run before this returns, and what it yields is discarded."""
        self._closing = True
        for _ in range(ATTEMPTS):
            if self._coroutine is not None and not self.done:
                with suppress(GeneratorExit):
                    await self.push(CLOSE)
        self._abandon()

    def _abandon(self) -> None:
        if self._coroutine is not None and not self.done:
            report_endless_filter()
        self.done = True

    async def _drain(self) -> None:
        outputs = self._transform(self.source)
        try:
            async for output in outputs:
                if self._closing:
                    report_late_yield()
                    return
                await self._deliver(output)
                if self._stopped:
                    return
        finally:
            await close_outputs(outputs)
