"""Whatever ends a response in its middle, nothing of it is left when the proxy's call returns, on any event loop."""

import anyio
import pytest
from starlette.types import Message

from agui_middleware import AGUIMiddleware, Settings
from agui_middleware.proxy import Proxy, UpstreamAborted
from tests.proxy.upstream import EVENTS, LAST, chunk, listening
from tests.robustness.exchange import Exchange, frame
from tests.robustness.leaks import on_every_loop

FIRST = frame({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
SECOND = frame({"type": "RAW", "event": 2})
ENDS = [
    "whole",
    "the upstream breaks off",
    "receive tells",
    "send raises",
    "it leaves while it is sent to",
    "cancelled",
]


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("end", ENDS)
@on_every_loop
async def test_nothing_is_left(end: str, wrapped: bool) -> None:
    stuck = anyio.Event()

    def refuse(message: Message) -> None:
        if end == "send raises" and message.get("body") == SECOND:
            raise OSError("the client has left")

    exchange = Exchange(on_send=refuse)

    async def send(message: Message) -> None:
        if end == "it leaves while it is sent to" and message.get("body") == SECOND:
            stuck.set()
            await anyio.sleep_forever()
        await exchange.send(message)

    async with listening() as upstream, Proxy(upstream.url) as proxy, anyio.create_task_group() as tasks:
        serving = anyio.CancelScope()

        async def serve() -> None:
            with serving:
                app = AGUIMiddleware(proxy, Settings()) if wrapped else proxy
                try:
                    await app(exchange.scope, exchange.receive, send)
                except OSError:
                    assert end == "send raises"
                except UpstreamAborted:
                    assert end == "the upstream breaks off"

        tasks.start_soon(serve)
        connection = await upstream.connection()
        await connection.body()
        await connection.send(EVENTS + chunk(FIRST))
        await exchange.events_sent(1)
        if end == "receive tells":
            exchange.disconnect()
        elif end == "cancelled":
            serving.cancel()
        elif end == "the upstream breaks off":
            await connection.stream.aclose()
        else:
            await connection.send(chunk(SECOND) + (LAST if end == "whole" else b""))
        if end == "it leaves while it is sent to":
            await stuck.wait()
            exchange.disconnect()
        if end not in ("whole", "the upstream breaks off"):
            await connection.closed()
    assert exchange.complete == (end == "whole")
