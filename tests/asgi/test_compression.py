"""Compression outside the middleware."""

import gzip
import importlib.metadata

import anyio
import pytest
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.testing import encode_events
from tests.conftest import Run
from tests.notation import stream
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body, sends

GZIP = [(b"accept-encoding", b"gzip")]
SHOWN = stream("RS r; TS m; TC m a; TC m b; TE m; RF r")
HIDDEN = encode_events(stream("SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s"))
STARLETTE = tuple(map(int, importlib.metadata.version("starlette").split(".")[:2]))


@pytest.mark.skipif(STARLETTE < (0, 46), reason="buffers event streams, see README.md")
def test_a_stream_is_rewritten_and_not_held_back_where_gzip_is_outside(run: Run) -> None:
    """Interlock: the agent sends an event once the client has the one before it."""

    async def scenario() -> None:
        exchange = Exchange(headers=GZIP)

        async def agent(scope: Scope, receive: Receive, send: Send) -> None:
            await send(EVENT_STREAM)
            for number, event in enumerate(SHOWN, 1):
                await send(body(HIDDEN))
                await send(body(encode_events([event])))
                with anyio.fail_after(20):
                    await exchange.events_sent(number)
            await send(END)

        wrapped = AGUIMiddleware(agent, Settings(routes=[Route(path="/agent", visibility="hidden")]))
        await exchange.run(GZipMiddleware(wrapped))
        assert exchange.body == encode_events(SHOWN)
        assert b"content-encoding" not in dict(exchange.sent[0]["headers"])

    run(scenario)


@pytest.mark.skipif(STARLETTE >= (0, 46), reason="leaves event streams alone")
async def test_an_older_starlette_compresses_a_stream_outside_and_what_it_holds_is_hidden() -> None:
    """README.md names 0.46, since the bytes leave late; they are the same."""
    agent = sends(HIDDEN, *(encode_events([event]) for event in SHOWN))
    wrapped = AGUIMiddleware(agent, Settings(routes=[Route(path="/agent", visibility="hidden")]))
    exchange = await Exchange(headers=GZIP).run(GZipMiddleware(wrapped, minimum_size=1))
    assert dict(exchange.sent[0]["headers"])[b"content-encoding"] == b"gzip"
    assert gzip.decompress(exchange.body) == encode_events(SHOWN)
