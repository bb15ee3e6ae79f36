"""A real uvicorn with real clients over a socket. Other servers and frameworks are in tests/robustness."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from agui_middleware.testing import encode_events
from tests.clients.client import HERE, Client
from tests.notation import stream

ATTRIBUTED = stream("RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m; RF r")
FRAMES = [encode_events([event]) for event in ATTRIBUTED]
INLINE = encode_events(stream("RS r; TS n; TC n psst; TE n; TS m; TC m hi; TE m; RF r"))
OLD = {"x-ag-ui-client-version": "0.0.58"}
PATIENCE = 10.0  # seconds at most for what takes milliseconds on an idle machine


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """Serve `app` on a loopback port, on this event loop."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        task = asyncio.create_task(server.serve([listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def agent(respond: Callable[[Request], Response]) -> Starlette:
    async def endpoint(request: Request) -> Response:
        return respond(request)

    return Starlette(routes=[StarletteRoute("/agent", endpoint, methods=["POST"])])


def http() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=PATIENCE, trust_env=False, verify=False)


@pytest.mark.parametrize("settings", [Settings(), Settings(routes=[Route(path="/agent", visibility="inline")])])
async def test_every_event_arrives_before_the_agent_sends_the_next(settings: Settings) -> None:
    """Interlock: the agent goes on when the client has read, over its socket, what was sent."""
    arrived = [asyncio.Event() for _ in FRAMES]

    async def frames() -> AsyncIterator[bytes]:
        for frame, event in zip(FRAMES, arrived, strict=True):
            yield frame
            if b"SUBAGENT" not in frame:  # which no old client gets
                await asyncio.wait_for(event.wait(), PATIENCE)

    app = AGUIMiddleware(agent(lambda _: StreamingResponse(frames(), media_type="text/event-stream")), settings)
    seen = b""
    async with serving(app) as url, http() as client, client.stream("POST", f"{url}/agent", headers=OLD) as response:
        async for chunk in response.aiter_raw():
            seen += chunk
            for frame, event in zip(FRAMES, arrived, strict=True):
                if frame.replace(b',"subagentRunId":"s"', b"") in seen:
                    event.set()
    assert seen == INLINE


async def test_the_headers_arrive_before_the_first_event() -> None:
    started = asyncio.Event()

    async def frames() -> AsyncIterator[bytes]:
        await asyncio.wait_for(started.wait(), PATIENCE)
        yield b"".join(FRAMES)

    app = AGUIMiddleware(agent(lambda _: StreamingResponse(frames(), media_type="text/event-stream")))
    async with serving(app) as url, http() as client, client.stream("POST", f"{url}/agent", headers=OLD) as response:
        assert response.headers["x-ag-ui-downgrade"] == "client=0.0.58; subagents=inline"
        assert "x-ag-ui-client-version" in response.headers["vary"]
        started.set()
        assert await response.aread() == INLINE


async def test_a_client_that_leaves_unwinds_agent_and_filters() -> None:
    log: list[str] = []
    unwound = asyncio.Event()

    async def watches(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        try:
            async for event in events:
                yield event
        finally:
            log.append("filter")

    async def frames() -> AsyncIterator[bytes]:
        try:
            yield FRAMES[0]
            await asyncio.Event().wait()
        finally:
            log.append("agent")

    inner = AGUIMiddleware(
        agent(lambda _: StreamingResponse(frames(), media_type="text/event-stream")),
        Settings(routes=[Route(path="/agent", filters=[watches])]),
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await inner(scope, receive, send)
        finally:
            log.append("returned")
            unwound.set()

    async with serving(app) as url, http() as client:
        async with client.stream("POST", f"{url}/agent") as response:
            assert await anext(response.aiter_raw()) == FRAMES[0]
        await asyncio.wait_for(unwound.wait(), PATIENCE)
    assert log == ["agent", "filter", "returned"]


# sse-starlette, whose line ends no client reads, and whose pings come from a task of their own.


@pytest.mark.parametrize("settings", [Settings(), Settings(routes=[Route(path="/agent", visibility="inline")])])
async def test_an_event_source_response_with_its_defaults_is_put_right(settings: Settings) -> None:
    async def events() -> AsyncIterator[dict[str, Any]]:
        for number, frame in enumerate(FRAMES):
            yield {"data": frame[6:-2].decode(), "id": str(number)}

    plain = agent(lambda _: EventSourceResponse(events()))
    async with serving(plain) as url, http() as client:
        assert b"\r\n\r\n" in (await client.post(f"{url}/agent")).content
    async with serving(AGUIMiddleware(plain, settings)) as url, http() as client:
        response = await client.post(f"{url}/agent", headers=OLD)
    assert b"\r" not in response.content
    assert b"".join(line + b"\n\n" for line in response.content.split(b"\n") if line.startswith(b"data: ")) == INLINE
    ids = [line for line in response.content.split(b"\n") if line.startswith(b"id: ")]
    assert ids == [b"id: %d" % number for number, frame in enumerate(FRAMES) if b"SUBAGENT" not in frame]


async def test_pings_of_an_event_source_response_arrive_while_the_agent_thinks() -> None:
    """Interlock: the agent goes on when the client has read a ping; the shortest interval is a second."""
    pinged = asyncio.Event()

    async def events() -> AsyncIterator[dict[str, Any]]:
        for frame in FRAMES:
            yield {"data": frame[6:-2].decode()}
            await asyncio.wait_for(pinged.wait(), PATIENCE)

    settings = Settings(routes=[Route(path="/agent", visibility="inline")])
    app = AGUIMiddleware(agent(lambda _: EventSourceResponse(events(), ping=1)), settings)
    seen = b""
    async with serving(app) as url, http() as client, client.stream("POST", f"{url}/agent") as response:
        async for chunk in response.aiter_raw():
            seen += chunk
            if b": ping" in seen:
                pinged.set()
    assert pinged.is_set()
    comments, data = seen.split(b"\n\n")[1], b"".join(f + b"\n\n" for f in seen.split(b"\n\n") if f[:5] == b"data:")
    assert comments.startswith(b": ping")
    assert data == INLINE


# The clients themselves, over the socket.


@pytest.mark.parametrize("release", ["0.0.58", "0.0.59", "1.0.0"])
@pytest.mark.parametrize("wrapped", [True, False])
async def test_real_clients_over_a_socket(client: Callable[[str], Client], release: str, wrapped: bool) -> None:
    """0.0.58 dies on SUBAGENT_STARTED, and all of them on CRLF, unless the middleware stands between."""
    client(release)  # skips where it is not installed

    async def events() -> AsyncIterator[dict[str, Any]]:
        for frame in FRAMES:
            yield {"data": frame[6:-2].decode()}

    crlf = agent(lambda _: EventSourceResponse(events()))
    lf = agent(lambda _: StreamingResponse(iter(FRAMES), media_type="text/event-stream"))
    results = {
        name: await _read_by(release, AGUIMiddleware(app) if wrapped else app)
        for name, app in [("crlf", crlf), ("lf", lf)]
    }
    accepted = {name: code == 0 for name, (code, _) in results.items()}
    assert accepted == ({"crlf": True, "lf": True} if wrapped else {"crlf": False, "lf": release != "0.0.58"})
    if not wrapped and release == "0.0.58":
        assert "type: Invalid discriminator value" in results["lf"][1]
    if wrapped:
        tag = " (s)" if release != "0.0.58" else ""
        for _, printed in results.values():
            assert f'assistant n{tag}: "psst"' in printed
            assert 'assistant m: "hi"' in printed


async def _read_by(release: str, app: ASGIApp) -> tuple[int | None, str]:
    node = shutil.which("node")
    assert node is not None
    script = HERE.parent.parent / "examples" / "client.mjs"
    async with serving(app) as url:
        process = await asyncio.create_subprocess_exec(
            *(node, str(script), release, f"{url}/agent"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "CLIENTS": str(HERE)},
        )
        printed, _ = await process.communicate()
    return process.returncode, printed.decode()
