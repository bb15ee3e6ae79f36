"""Comments in a response that would else be silent: proxies and load balancers cut streams that are idle."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import TaskGroup

logger: logging.Logger = logging.getLogger("agui_middleware")

COMMENT: Final = b":\n\n"

CHECKS: Final = 4
"""How often the response is looked at in `seconds`. A comment comes after at least `seconds` of silence, and at most a
quarter more. To know it exactly, each write would have to read the clock, which can cost as much as a tenth of an event.
"""

Sleep = Callable[[float], Awaitable[None]]


class KeepAlive:
    """Calls `ping` whenever nothing was written for `seconds`. Whoever writes sets `wrote`.

    The task that waits is started by `start`, once there is a stream to keep alive, so that other responses have none. `run`
    is its parent. Nothing of that is seen by the app: it stays in its own task, and `run` raises what the app raised and not
    the exception group of a task group.
    """

    __slots__ = ("_ping", "_scope", "_seconds", "_sleep", "_tasks", "wrote")

    def __init__(self, seconds: float, ping: Callable[[], Awaitable[bool]], sleep: Sleep) -> None:
        """`ping` returns whether there may be another one. `seconds` of 0 turn it off."""
        self.wrote: bool = False
        self._seconds = seconds
        self._ping = ping
        self._sleep = sleep
        self._tasks: TaskGroup | None = None
        self._scope: anyio.CancelScope | None = None

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Await `work()`, and end the task with it. Raises what `work` raises, cancellation included."""
        if not self._seconds:
            await work()
            return
        failure: BaseException | None = None
        try:
            async with anyio.create_task_group() as self._tasks:
                try:
                    await work()
                except BaseException as error:  # kept from the group, which would wrap it
                    failure = error
                # The group itself is not cancelled: on asyncio that would cancel this task too.
                self._tasks = None
                if self._scope is not None:
                    self._scope.cancel()
        finally:
            try:
                if failure is not None:  # also where this task is cancelled (again) while the group ends
                    raise failure
            finally:
                failure = None  # its traceback has this frame: a circle, which would keep the app's generators alive

    def start(self) -> None:
        """The response is a stream, and its start was sent. Without effect where `run` is over: an app may have left a task
        behind.
        """
        if self._tasks is not None:
            self._scope = anyio.CancelScope()
            self._tasks.start_soon(self._watch, self._scope)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        with scope:
            silent = 0
            while True:
                await self._sleep(self._seconds / CHECKS)
                silent = 0 if self.wrote else silent + 1
                self.wrote = False
                if silent >= CHECKS:
                    if not await self._pinged():
                        return
                    silent, self.wrote = 0, False  # the comment is the last that was written

    async def _pinged(self) -> bool:
        """Ping. What the server raises is for the app, which gets it when it sends: a comment that fails ends nothing."""
        try:
            return await self._ping()
        except OSError:  # the client has disconnected
            return False
        except Exception:
            logger.exception("a keep-alive comment could not be sent; no more are sent in this response")
            return False
