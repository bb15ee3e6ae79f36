"""Comments in a response that would else be silent: proxies and load balancers cut streams that are idle."""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from agui_middleware.asgi.ticker import CallLater, Ticker, call_later

COMMENT: Final = b":\n\n"

CHECKS: Final = 4
"""How often the response is looked at in `seconds`. A comment comes after at least `seconds` of silence, and at most a
quarter more. To know it exactly, each write would have to read the clock, which can cost as much as a tenth of an event.
"""

Ping = Callable[[], Awaitable[bool]]


class Timers:
    """What the responses of one middleware wait with: a ticker on asyncio, and `sleep` on trio.

    `failed` is called with what a ping raises, unless the client has disconnected.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self.call_later: CallLater = call_later  # tests have a clock of their own
        self.sleep: Callable[[float], Awaitable[None]] = anyio.sleep
        self._failed = failed
        self._tickers: dict[float, Ticker] = {}  # by seconds, of the event loop that was used last

    def keep_alive(self, seconds: float, ping: Ping) -> "KeepAlive":
        """What pings after `seconds` of silence, for a response on asyncio."""
        loop, ticker = asyncio.get_running_loop(), self._tickers.get(seconds)
        if ticker is None or ticker.loop is not loop:
            # Where several loops take turns, each turn begins a new one, and the old one ends by itself.
            ticker = self._tickers[seconds] = Ticker(loop, seconds / CHECKS, self.call_later)
        return OnTicks(self, ticker, ping)

    async def pinged(self, ping: Ping) -> bool:
        """Ping. What the server raises is for the app, which gets it when it sends: a comment that fails ends nothing."""
        try:
            return await ping()
        except OSError:  # the client has disconnected
            return False
        except Exception as error:
            self._failed(error)
            return False


class KeepAlive:
    """What pings where nothing is written for some time: nothing does. Whoever writes sets `wrote`.

    This is for responses without a stream, and those that are not to be kept alive: they share one. The app stays in its
    own task: on asyncio there is a task only while a comment is written; trio has none outside a task group, so that the app
    runs in one there.
    """

    __slots__ = ("wrote",)

    def __init__(self) -> None:
        self.wrote: bool = False

    def end(self) -> "asyncio.Task[None] | None":
        """The response is over. Return the task that still writes a comment, cancelled, for the caller to wait for."""
        return None


class OnTicks(KeepAlive):
    """On asyncio: what `ticker` looks at."""

    __slots__ = ("_context", "_ping", "_silent", "_ticker", "_timers", "_writing")

    def __init__(self, timers: Timers, ticker: Ticker, ping: Ping) -> None:
        super().__init__()
        self._timers = timers
        self._ticker = ticker
        self._ping = ping
        self._context = contextvars.copy_context()
        self._writing: asyncio.Task[None] | None = None
        self._silent = 0 if ticker.add(self) else -1  # ticks

    def tick(self) -> None:
        """A quarter of the time has passed."""
        if self._writing is not None:
            self._silent = -1  # the next tick comes earlier than a quarter behind the comment
            return
        self._silent = 0 if self.wrote else self._silent + 1
        self.wrote: bool = False
        if self._silent >= CHECKS:
            self._silent = 0
            self._writing = self._context.run(self._ticker.loop.create_task, self._write())

    def end(self) -> "asyncio.Task[None] | None":
        """See `KeepAlive.end`."""
        self._ticker.responses.pop(self, None)
        writing, self._writing = self._writing, None  # whose traceback refers back here
        if writing is not None:
            writing.cancel()
        return writing

    async def _write(self) -> None:
        goes_on = await self._timers.pinged(self._ping)
        self.wrote = False  # the comment is the last that was written
        self._writing = None
        if not goes_on:
            self._ticker.responses.pop(self, None)


class InGroup(KeepAlive):
    """On trio: a task in a group, which has to be there before there is a stream."""

    __slots__ = ("_seconds", "_tasks", "_timers")

    def __init__(self, timers: Timers, seconds: float) -> None:
        super().__init__()
        self._timers = timers
        self._seconds = seconds
        self._tasks: anyio.abc.TaskGroup | None = None

    def start(self, ping: Ping) -> None:
        """The response is a stream, and its start was sent. `ping` returns whether there may be another one."""
        assert self._tasks is not None  # there is a response only within `run`
        self._tasks.start_soon(self._watch, ping)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Await `work()` in a task group, and end its tasks with it. Raises what `work` raises, cancellation included."""
        failure: BaseException | None = None
        try:
            async with anyio.create_task_group() as self._tasks:
                try:
                    await work()
                except BaseException as error:  # kept from the group, which would wrap it
                    failure = error
                self._tasks.cancel_scope.cancel()
        finally:
            self._tasks = None
            try:
                if failure is not None:  # also where this task is cancelled (again) while the group ends
                    raise failure
            finally:
                failure = None  # its traceback has this frame: a circle, which would keep the app's generators alive

    async def _watch(self, ping: Ping) -> None:
        silent = 0
        while True:
            await self._timers.sleep(self._seconds / CHECKS)
            silent = 0 if self.wrote else silent + 1
            self.wrote: bool = False
            if silent >= CHECKS:
                if not await self._timers.pinged(ping):
                    return
                silent, self.wrote = 0, False  # the comment is the last that was written


def is_on_asyncio() -> bool:
    """Whether asyncio runs the caller. If not, the app has to run `InGroup`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
