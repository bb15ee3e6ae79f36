"""A stream that never ends: it goes on as long as the client stays, in bounded memory, and leaves nothing behind."""

import tracemalloc
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Route, Settings
from tests.robustness.agents import FRAMES
from tests.robustness.exchange import EVENT_STREAM, Exchange, body
from tests.robustness.leaks import on_every_loop

OPENED = FRAMES[:8]  # a subagent's and another one's message are open
TOKEN = b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"%b","delta":"SECRET %b"}\n\n'
TOKENS, SIZE = 2_000, 600
ROUTES: dict[str, dict[str, Any]] = {
    "attributed": {"visibility": "attributed"},
    "inline": {"visibility": "inline"},
    "hidden": {"visibility": "hidden"},
    "for an old client": {"visibility": "inline", "client": ClientVersion.parse("0.0.45")},
}


class Leaving(Exchange):
    """A client that keeps nothing but a count, and leaves when it has got, or the agent has said, so much."""

    def __init__(self) -> None:
        super().__init__()
        self.said = self.got = 0

    async def send(self, message: Message) -> None:
        self.got += len(message.get("body", b""))


async def tokens(exchange: Leaving) -> AsyncGenerator[bytes, None]:
    for opening in OPENED:
        yield opening
    while True:
        exchange.said += 1
        yield TOKEN % (b"ab"[exchange.said % 2 :][:1], b"x" * SIZE)
        if exchange.said == TOKENS:
            exchange.disconnect()


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
@on_every_loop
async def test_a_stream_that_never_ends_takes_no_memory_and_ends_with_its_client(route: dict[str, Any]) -> None:
    """Of more than a megabyte of tokens no more than a quarter is ever there, in what waits for the client or elsewhere."""
    exchange, ended = Leaving(), []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

        async def stream() -> None:
            parts = tokens(exchange)
            try:
                await send(EVENT_STREAM)
                async for part in parts:
                    await send(body(part))
                    await anyio.lowlevel.checkpoint()
            finally:
                await parts.aclose()
                ended.append("agent")

        async with anyio.create_task_group() as group:
            group.start_soon(stream)
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

    middleware = AGUIMiddleware(app, Settings(routes=[Route(path="/agent", **route)]))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        await exchange.run(middleware)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert ended == ["agent"]
    assert exchange.said >= TOKENS
    assert (exchange.got > TOKENS * SIZE) == (route["visibility"] != "hidden")
    assert peak < 256 * 1024
