"""One caller at a time, first come first served."""

from collections import deque

import anyio


class Lock:
    """A lock for the path that every event takes: free, it costs two attribute writes and no await.

        if not lock.take():
            await lock.wait()

    `anyio.Lock` asks the event loop for the current task on every acquisition, which costs more than reading the event.
    There is one caller in nearly every response; the second is a ping task.
    """

    __slots__ = ("locked", "waiting")

    def __init__(self) -> None:
        self.locked: bool = False
        self.waiting: deque[anyio.Event] | None = None  # made for the first that waits: empty, it takes 600 bytes

    def take(self) -> bool:
        """Take the lock if it is free. Return whether it was."""
        if self.locked:
            return False
        self.locked = True
        return True

    async def wait(self) -> None:
        """Wait for the lock. Cancelled while it waits, the caller leaves the queue as if it had never come."""
        if self.take():
            return
        if self.waiting is None:
            self.waiting = deque()
        called = anyio.Event()
        self.waiting.append(called)
        try:
            await called.wait()
            await anyio.lowlevel.checkpoint_if_cancelled()  # asyncio may have called it first, and cancelled it since
        except BaseException:
            if called.is_set():
                self.release()
            else:
                self.waiting.remove(called)
            raise

    def release(self) -> None:
        """Hand the lock to the one who has waited longest, or free it."""
        if self.waiting:
            self.waiting.popleft().set()
        else:
            self.locked = False
