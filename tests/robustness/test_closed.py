"""What an app and its filters have open is closed when the call returns, without the garbage collector, however it ends."""

import gc
import logging
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, nullcontext, suppress
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Filter, Route, Settings
from agui_middleware.filters.declared import EVERYTHING, handles
from tests.robustness.exchange import BODY, END, EVENT_STREAM, Exchange
from tests.robustness.leaks import LOOPS, run_clean

RUN = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
TEXT = b'data: {"type":"TEXT_MESSAGE_CHUNK","messageId":"m","delta":"x","subagentRunId":"s"}\n\n'
HEADERS = [(b"content-type", b"application/json"), (b"x-ag-ui-client-version", b"0.0.45")]
POSTED = b'{"threadId":"t","runId":"r","messages":[{"id":"u","role":"user","content":"go"}],"tools":[],"context":[]}'
LAST = {"is too large": b'data: {"type":"CUSTOM","x":"%b"}\n\n' % (b"x" * 5000), "is malformed": b'data: {"type"\n\n'}
ENDS = ("ends", "server raises", "is cancelled", "filter raises", "filter returns", "app raises", *LAST)


class Boom(Exception):
    pass


class Ending:
    """An app, a filter and a client of which one ends the response in a way, and what became of the app's generator."""

    def __init__(self, end: str, filter: str, visibility: str, closes: bool) -> None:
        self.end = end
        self.closes = closes
        filters: dict[str, list[Filter]] = {
            "none": [],
            "declared": [handles(EVERYTHING)(self.filter)],
            "awaiting": [self.awaits],
            "none, with history": [],
        }
        route = Route(path="/agent", visibility=visibility, filters=filters[filter])  # type: ignore[arg-type]
        history = "memory://" if "history" in filter else None
        settings = Settings(routes=[route], max_event_bytes=2000, history=history, keep_alive=60)
        self.middleware = AGUIMiddleware(self.app, settings)
        self.scope = anyio.CancelScope()
        self.sent = 0
        self.closed: list[str] = []
        self.generator: weakref.ref[Any] | None = None

    async def agent(self) -> AsyncGenerator[bytes, None]:
        try:
            yield RUN
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
                yield TEXT
            if self.end == "app raises":
                raise Boom
            yield LAST.get(self.end, TEXT)
        finally:
            self.closed.append("agent")

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        generator = self.agent()
        self.generator = weakref.ref(generator)
        # On asyncio nobody closes it but its last reference, as with Starlette's responses. Trio warns of that.
        async with aclosing(generator) if self.closes else nullcontext():
            async for chunk in generator:
                await send({"type": BODY, "body": chunk, "more_body": True})
        await send(END)

    async def filter(self, events: AsyncIterator[Event], _: Context) -> AsyncGenerator[Event, None]:
        try:
            count = 0
            async for event in events:
                count += 1
                if count == 3 and self.end == "filter raises":
                    raise Boom
                if count == 3 and self.end == "filter returns":
                    return
                yield event
        finally:
            self.closed.append("filter")

    async def awaits(self, events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        async with aclosing(self.filter(events, context)) as filtered:
            async for event in filtered:
                await anyio.lowlevel.checkpoint()
                yield event

    def on_send(self, _: Message) -> None:
        self.sent += 1
        if self.sent == 4 and self.end == "server raises":
            raise OSError("the client has left")
        if self.sent == 4 and self.end == "is cancelled":
            self.scope.cancel()

    async def run(self) -> None:
        with self.scope, suppress(Boom, OSError):
            await Exchange(on_send=self.on_send, headers=HEADERS, body=[POSTED]).run(self.middleware)


@pytest.fixture
def no_collector() -> Iterator[None]:
    logging.disable(logging.CRITICAL)  # pytest keeps records, and with them tracebacks
    gc.disable()
    yield
    gc.enable()
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("visibility", ["auto", "hidden"])
@pytest.mark.parametrize("filter", ["none", "declared", "awaiting", "none, with history"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("loop", [loop for loop in LOOPS if loop != "uvloop"])
def test_everything_is_closed_without_the_garbage_collector(loop: str, end: str, filter: str, visibility: str) -> None:
    """B8: an exception that is kept refers to the frames that it went through, and they to all that was open there."""

    async def scenario() -> None:
        ending = Ending(end, filter, visibility, loop == "trio")
        await ending.run()
        for _ in range(4):  # the event loop closes a generator that nobody refers to, in a task of its own
            await anyio.lowlevel.checkpoint()
        assert ending.closed.count("agent") == 1
        assert ending.closed.count("filter") == (not filter.startswith("none"))
        assert ending.generator is not None
        assert ending.generator() is None
        assert not _garbage(), "reference cycles, which would wait for the garbage collector"

    run_clean(scenario, loop)


def _garbage() -> list[str]:
    """The types of objects of the package, and of frames and generators, that only the collector could free."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        names = [f"{type(found).__module__}.{type(found).__qualname__}" for found in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    return [name for name in names if name.startswith("agui_middleware") or name.endswith(("generator", "coroutine"))]
