"""The filters of one response that may await, each on a pump, in front of the chain of declared filters."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.source import EventSource, report_failed_close
from agui_middleware.protocol.errors import run_error
from agui_middleware.protocol.event import Event, as_event
from agui_middleware.stream.chain import Chain
from agui_middleware.stream.pump import Pump


class Pumps:
    """Drives the filters that may await, and pushes their output into `chain`. After each event it awaits `flush`.

    Failures and early returns are handled as in a `Chain`. The chain is the successor of the last pump, and keeps the first
    failure of all filters. An exception of `flush` (the client disconnected) is raised by `start`, `push`, `fail` and
    `finish`, and no filter sees it.
    """

    def __init__(
        self, filters: Sequence[Filter], context: Context, chain: Chain, flush: Callable[[], Awaitable[None]]
    ) -> None:
        self._chain = chain
        self._flush = flush
        self._dead = -1  # the last filter that reads no more
        self._undeliverable: Exception | None = None
        self._pumps = [
            Pump(partial(_call, filter, context), partial(self._deliver, index + 1))
            for index, filter in enumerate(filters)
        ]

    @property
    def ended(self) -> bool:
        """Whether no more events are taken."""
        return self._dead >= 0 or self._chain.ended

    async def start(self) -> None:
        """Run the filters up to their first event."""
        for index in range(len(self._pumps)):
            await self._start(index)
        self._raise_undeliverable()

    async def push(self, event: Event) -> None:
        """Pass one event to the first filter."""
        await self._deliver(0, event)
        self._raise_undeliverable()

    async def fail(self, error: Exception) -> None:
        """End the run because the stream itself is faulty: every filter reads RUN_ERROR and the end."""
        await self._fail(self._dead, error)
        self._raise_undeliverable()

    async def finish(self) -> None:
        """End the stream: every filter yields what it still holds back."""
        await self._finish_from(0)
        self._raise_undeliverable()

    async def close(self) -> None:
        """Unwind every filter, in order. An exception that one of them raises is logged, and the next one is unwound. If the
        task is cancelled meanwhile, the others are unwound too, and the cancellation is raised at the end.
        """
        stopped: BaseException | None = None
        for pump in self._pumps:
            try:
                await pump.close()
            except Exception as error:
                report_failed_close(error)
            except BaseException as error:
                stopped = error
        self._pumps.clear()  # which refer back here
        try:
            if stopped is not None:
                raise stopped
        finally:
            del stopped  # its traceback has this frame: a reference cycle would keep the app's generator open

    async def _start(self, index: int) -> None:
        pump = self._pumps[index]
        if not pump.started and index > self._dead:
            await self._guard(index, pump.start())

    async def _deliver(self, index: int, output: Any) -> None:
        event = output if type(output) is Event else as_event(output)
        if index <= self._dead:
            return
        if index < len(self._pumps):
            await self._start(
                index
            )  # a filter may yield before its first event, and before those behind it have started
            if not self._pumps[index].done:
                await self._guard(index, self._pumps[index].push(event))
            return
        self._chain.push(event)
        if event.fields is None:  # one with fields waits for what else comes of its frame: the last piece takes them
            await self._write()

    async def _write(self) -> None:
        try:
            await self._flush()
        except Exception as error:
            # Raised through the filters, it could be caught by them, and would be blamed on them.
            self._undeliverable = error
            self._dead = len(self._pumps)
            for pump in self._pumps:
                pump.stop()

    async def _guard(self, index: int, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            await self._fail(index, error)
        else:
            if self._pumps[index].done and index > self._dead:
                self._dead = index
                await self._finish_from(index + 1)

    async def _fail(self, index: int, error: Exception) -> None:
        self._chain.failure = self._chain.failure or error
        self._dead = max(self._dead, index)
        await self._deliver(self._dead + 1, run_error(error))
        await self._finish_from(self._dead + 1)

    async def _finish_from(self, index: int) -> None:
        for later in range(index, len(self._pumps)):
            pump = self._pumps[later]
            if pump.started and not pump.done and later > self._dead:
                await self._guard(later, pump.finish())
                return  # which has finished those behind it
        if self._undeliverable is None and not self._chain.ended:
            self._dead = len(self._pumps)
            self._chain.finish()
            await self._write()

    def _raise_undeliverable(self) -> None:
        error, self._undeliverable = self._undeliverable, None
        if error is None:
            return
        try:
            raise error
        finally:
            del error  # its traceback holds this frame: a reference cycle would keep the app's generator open


def _call(filter: Filter, context: Context, events: EventSource) -> AsyncIterator[Any]:
    return filter(events, context)
