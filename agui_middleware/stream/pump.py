"""Push in, pull out: drives an async generator from the outside, in the task that pushes.

No task, no queue and no buffer: a push runs the generator until it asks for an item that has not come, and returns. So
backpressure, cancellation and context variables are those of the task that pushes, and real awaits inside the generator
pass through to its event loop, asyncio or trio. The price of a task and a memory object stream instead is about 15 µs an
item; this costs well under one.

In CPython, closing a parked `asend()` does not unwind the generator behind it. So the generator is iterated by a coroutine
of ours, which parks inside the source, and is unwound by an exception that the source raises.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Generator
from contextlib import suppress
from types import coroutine
from typing import Any, Final, Generic, TypeVar

In = TypeVar("In")
Out = TypeVar("Out")

logger: logging.Logger = logging.getLogger("agui_middleware")


class _Done:
    __slots__ = ()

    def __await__(self) -> Generator[Any, Any, None]:
        return
        yield


DONE: Final[Awaitable[None]] = _Done()
"""A step that is over already. Nearly every step of a stream waits for nothing: it is taken when it is called, and no
coroutine is made for it. What it gives back is to be awaited at once, unless it is this.
"""

_PARKED = object()  # what the source yields where the event loop would expect a future
_END = object()
_CLOSE = object()

# A generator may ask once more after its source has ended, or swallow one GeneratorExit; one that does it again never ends.
_ATTEMPTS = 2


class Source(Generic[In]):
    """The async iterator that the generator reads: each `anext` parks until an item is pushed.

    `overlooked` is the generator's to set, if it `dozes`: the kinds of items that it need not be given for now. To heed
    that is the caller's part.
    """

    __slots__ = ("dozes", "overlooked")

    def __init__(self) -> None:
        self.dozes: bool = False
        self.overlooked: Collection[str] = ()

    def __aiter__(self) -> "Source[In]":
        return self

    @coroutine
    def __anext__(self) -> Generator[Any, Any, In]:
        item: In = yield _PARKED
        if item is _END:
            raise StopAsyncIteration
        if item is _CLOSE:
            raise GeneratorExit
        return item


class Pump(Generic[In, Out]):
    """Drives `transform` over the items that `push` is given, and hands on what it yields, at once, through `deliver`.

    Every method raises what the generator raises, after which the pump is `done`. One call at a time. `close` may follow
    at any point, also after an exception or a cancellation, and any number of times.
    """

    __slots__ = ("_closing", "_coroutine", "_deliver", "_transform", "done", "source")

    def __init__(
        self, transform: Callable[[AsyncIterator[In]], AsyncIterator[Out]], deliver: Callable[[Out], Awaitable[None]]
    ) -> None:
        self._transform = transform
        self._deliver = deliver
        self._coroutine: Coroutine[Any, Any, None] | None = None
        self.source: Source[In] = Source()
        self._closing = False
        self.done: bool = False  # the generator has ended, by itself or by an exception

    async def start(self) -> None:
        """Run the generator up to its first request for an item. Comes before everything but `close`."""
        self._coroutine = self._drain()
        await self.push(None)  # type: ignore[arg-type]  # what a coroutine's first send takes

    def push(self, item: In) -> Awaitable[None]:
        """Hand `item` to the generator, at once; `DONE` where it has asked for the next one, or has ended."""
        assert self._coroutine is not None  # `start` came first
        try:
            waiting = self._coroutine.send(item)
        except StopIteration:
            self.done = True
            return DONE
        except BaseException:
            self.done = True
            raise
        return DONE if waiting is _PARKED else self._wait(self._coroutine, waiting)

    @coroutine
    def _wait(self, coroutine: Coroutine[Any, Any, None], waiting: Any) -> Generator[Any, Any, None]:
        """Have the event loop wait for what the generator waits for."""
        try:
            while waiting is not _PARKED:
                try:
                    reply = yield waiting
                except BaseException as error:
                    waiting = coroutine.throw(error)
                else:
                    waiting = coroutine.send(reply)
        except StopIteration:
            self.done = True
        except BaseException:
            self.done = True
            raise

    async def finish(self) -> None:
        """Tell the generator that its source has ended; it may still yield. `done` afterwards."""
        for _ in range(_ATTEMPTS):
            if not self.done:
                await self.push(_END)  # type: ignore[arg-type]  # never leaves the source
        await self.close()

    async def close(self) -> None:
        """Unwind the generator: its `finally` blocks run before this returns, and nothing it yields is handed on."""
        self._closing = True
        for _ in range(_ATTEMPTS):
            if self._coroutine is not None and not self.done:
                with suppress(GeneratorExit):
                    await self.push(_CLOSE)  # type: ignore[arg-type]  # never leaves the source
        if self._coroutine is not None and not self.done:
            logger.error("a filter caught GeneratorExit and went on reading; it is abandoned")
        self.done = True

    async def _drain(self) -> None:
        outputs = self._transform(self.source)
        deliver = self._deliver
        try:
            async for output in outputs:
                if self._closing:
                    logger.error("a filter yielded while it was being closed; what it yielded is lost")
                    return
                step = deliver(output)
                if step is not DONE:
                    await step
        finally:
            await _aclose(outputs)


async def _aclose(outputs: object) -> None:
    if isinstance(outputs, Coroutine):
        outputs.close()  # no generator: a filter that forgot to yield
    close = getattr(outputs, "aclose", None)
    if close is None:
        return
    try:
        await close()
    except RuntimeError as error:
        if "ignored GeneratorExit" not in str(error):
            raise
        logger.error("a filter yielded while it was being closed; what it yielded is lost")
