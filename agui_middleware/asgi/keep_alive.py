"""Comments in a response that would else be silent: proxies and load balancers cut streams that are idle."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

COMMENT: Final = b":\n\n"

CHECKS: Final = 4
"""How often the response is looked at in `seconds`. A comment comes after at least `seconds` of silence, and at most a
quarter more. To know it exactly, each write would have to read the clock, which can cost as much as a tenth of an event.
"""

Sleep = Callable[[float], Awaitable[None]]
Ping = Callable[[], Awaitable[bool]]


class KeepAlive:
    """Calls the `ping` that `start` is given whenever nothing was written for `seconds`. Whoever writes sets `wrote`.

    The task that waits is started by `start`, once there is a stream to keep alive, so that other responses have none, and
    `run` ends it. Nothing of that is seen by the app: it stays in its own task, and `run` raises what the app raised.
    """

    __slots__ = ("_failed", "_seconds", "_sleep", "_start_task", "_task", "wrote")

    def __init__(self, seconds: float, failed: Callable[[Exception], None], sleep: Sleep) -> None:
        """`failed` is called with what a ping raises, unless the client has disconnected. `seconds` of 0 turn it off."""
        self.wrote: bool = False
        self._seconds = seconds
        self._failed = failed
        self._sleep = sleep
        self._start_task: Callable[[Ping], object] | None = None  # only while `run` can end the task
        self._task: asyncio.Task[None] | None = None

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Await `work()`, and end the task with it. Raises what `work` raises, cancellation included."""
        if not self._seconds:
            await work()
            return
        if not _on_asyncio():
            await self._run_on_trio(work)
            return
        # No task group: it costs every request as much as two hundred tokens, and most answer without a stream.
        self._start_task = self._start_on_asyncio
        try:
            await work()
        finally:
            self._start_task = None
            if self._task is not None:
                task, self._task = self._task, None  # whose traceback refers back here
                task.cancel()
                await asyncio.wait([task])

    def start(self, ping: Ping) -> None:
        """The response is a stream, and its start was sent. Without effect where `run` is over: an app may have left a task
        behind. `ping` returns whether there may be another one.
        """
        if self._start_task is not None:
            self._start_task(ping)

    def _start_on_asyncio(self, ping: Ping) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch(ping))

    async def _run_on_trio(self, work: Callable[[], Awaitable[None]]) -> None:
        failure: BaseException | None = None
        try:
            async with anyio.create_task_group() as tasks:
                self._start_task = lambda ping: tasks.start_soon(self._watch, ping)
                try:
                    await work()
                except BaseException as error:  # kept from the group, which would wrap it
                    failure = error
                self._start_task = None
                tasks.cancel_scope.cancel()
        finally:
            try:
                if failure is not None:  # also where this task is cancelled (again) while the group ends
                    raise failure
            finally:
                failure = None  # its traceback has this frame: a circle, which would keep the app's generators alive

    async def _watch(self, ping: Ping) -> None:
        silent = 0
        while True:
            await self._sleep(self._seconds / CHECKS)
            silent = 0 if self.wrote else silent + 1
            self.wrote = False
            if silent >= CHECKS:
                if not await self._pinged(ping):
                    return
                silent, self.wrote = 0, False  # the comment is the last that was written

    async def _pinged(self, ping: Ping) -> bool:
        """Ping. What the server raises is for the app, which gets it when it sends: a comment that fails ends nothing."""
        try:
            return await ping()
        except OSError:  # the client has disconnected
            return False
        except Exception as error:
            self._failed(error)
            return False


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
