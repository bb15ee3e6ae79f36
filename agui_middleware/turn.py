"""One caller at a time, first come first served."""

from collections import deque

import anyio


class Turn:
    """A lock for the path that every event takes: free, it costs two attribute writes and no await.

    `anyio.Lock` asks the event loop for the current task on every acquisition, which costs more than reading the event.
    There is one caller in nearly every response; the second is a ping task.
    """

    __slots__ = ("taken", "waited_for")

    def __init__(self) -> None:
        self.taken: bool = False
        self.waited_for: deque[anyio.Event] = deque()

    async def take(self) -> None:
        """Wait for the turn. Cancelled while it waits, it leaves the queue as if it had never come."""
        if not self.taken:
            self.taken = True
            return
        called = anyio.Event()
        self.waited_for.append(called)
        try:
            await called.wait()
            await anyio.lowlevel.checkpoint_if_cancelled()  # asyncio may have called it first, and cancelled it since
        except BaseException:
            if called.is_set():
                self.give()
            else:
                self.waited_for.remove(called)
            raise

    def give(self) -> None:
        """Hand the turn to the one who has waited longest, or free it."""
        if self.waited_for:
            self.waited_for.popleft().set()
        else:
            self.taken = False
