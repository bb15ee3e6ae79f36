"""The demo's server: the page, the traces that it shows, and the agent itself for real clients."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec
from anyio import CancelScope, to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount
from starlette.routing import Route as Endpoint
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware.agent_events import AgentEvent, agent_endpoint, to_agui
from agui_middleware.agent_events.response import frames
from agui_middleware.agent_events.run_emitter import AGUIEvent
from agui_middleware.asgi.middleware import AGUIMiddleware
from agui_middleware.checking.recorded import Unreadable, as_stream
from agui_middleware.config.named_clients import parse_client
from agui_middleware.config.routes import Route
from agui_middleware.config.sdks import SDKS
from agui_middleware.config.settings import Settings
from agui_middleware.demo.paused_run import paused_run
from agui_middleware.demo.recorded_trace import trace_recording
from agui_middleware.demo.sample_agent import PACE, Sample
from agui_middleware.demo.trace import Record, trace
from agui_middleware.filters import SubagentVisibility
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.stream.sse import encode

VISIBILITIES = ["auto", *map(str, SubagentVisibility)]
READERS = [reader.name for sdk in SDKS for reader in sdk.readers if not reader.refused]
CLIENTS = ["current", *map(str, reversed(RELEASES)), *READERS]
MAX_BYTES = 5 * 1024 * 1024
"""The largest recording that the page takes, in bytes: some ten thousand events. `agui-middleware rewrite` has no limit."""

Agent: TypeAlias = Callable[[], AsyncIterable[AgentEvent]]
"""Starts a run."""
Sources: TypeAlias = Mapping[str, Callable[[], AsyncGenerator[AGUIEvent, None]]]
"""What the page can trace beside recordings, by name."""

# The page loads nothing from other servers, and text of a stream is never executed.
_HEADERS = {
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-cache",
}


def make_app(agent: Agent | None = None) -> Starlette:
    """The demo as an ASGI app; `agent` defaults to the sample agent.

    `/` is the page, and `/trace` serves the traces that it shows. `/agent` is the agent behind the middleware, `/public` the
    same with its subagents hidden, and `/unprotected` the agent without the middleware.
    """
    run = agent or Sample().run
    endpoint = agent_endpoint(lambda _: run())
    sources: Sources = {
        "sample": lambda: to_agui(run(), thread_id="demo", run_id="run"),
        "paused": lambda: paused_run(PACE),
    }
    routes = [
        Route(path="/agent"),
        Route(path="/public", visibility="hidden"),
        Route(path="/unprotected", enabled=False),
        Route(path="/trace", enabled=False),  # the records of a trace are not AG-UI events
    ]
    return Starlette(
        routes=[
            *(Endpoint(path, endpoint, methods=["POST"]) for path in ("/agent", "/public", "/unprotected")),
            Endpoint("/options", _options),
            Endpoint("/trace", partial(_trace, sources), methods=["POST"]),
            Mount("/", StaticFiles(directory=Path(__file__).parent / "static", html=True)),
        ],
        middleware=[
            # DNS rebinding: a page of another site, whose name resolves to 127.0.0.1, could read what is pasted here.
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"], www_redirect=False),
            Middleware(PageHeaders),
            Middleware(AGUIMiddleware, settings=Settings(routes=routes)),
        ],
    )


async def _options(_: Request) -> Response:
    return JSONResponse({"clients": CLIENTS, "visibilities": VISIBILITIES, "maxBytes": MAX_BYTES})


async def _trace(sources: Sources, request: Request) -> Response:
    """Stream the records of a trace as Server-Sent Events: of the posted recording, or else of a source."""
    client, visibility = request.query_params.get("client", "current"), request.query_params.get("visibility", "auto")
    source = request.query_params.get("source", "sample")
    if client not in CLIENTS or visibility not in VISIBILITIES or source not in sources:
        choices = {"client": CLIENTS, "visibility": VISIBILITIES, "source": sources}
        allowed = "; ".join(f"{name} is one of {', '.join(names)}" for name, names in choices.items())
        return JSONResponse({"error": allowed}, status_code=422)
    reader = None if client == "current" else parse_client(client)
    try:
        recording = await _body(request)
        if recording is None:
            return Traced(trace(_written(sources[source]()), reader, visibility))
        stream = await to_thread.run_sync(as_stream, recording)
    except Unreadable as error:
        return JSONResponse({"error": str(error)}, status_code=422)
    return Traced(trace_recording(stream, reader, visibility))


async def _body(request: Request) -> bytes | None:
    """The posted recording; `None` for JSON, which asks for a source. Raises `Unreadable` if it exceeds `MAX_BYTES`."""
    if request.headers.get("content-type", "").startswith("application/json"):
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BYTES:
            raise Unreadable(
                f"The recording is larger than {MAX_BYTES // 2**20} MiB. `agui-middleware rewrite` takes any size."
            )
    return bytes(body)


async def _written(events: AsyncGenerator[AGUIEvent, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(frames(events)) as chunks:
        async for chunk in chunks:
            yield chunk


class Traced(StreamingResponse):
    """Streams the records of a trace. If the page disconnects, the trace is closed before the response returns."""

    media_type = "text/event-stream"

    def __init__(self, records: AsyncGenerator[Record, None]) -> None:
        self._records = records
        super().__init__(self._encoded())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with CancelScope(shield=True):
                await self._records.aclose()

    async def _encoded(self) -> AsyncIterator[bytes]:
        async for record in self._records:
            yield encode(msgspec.json.encode(record))


class PageHeaders:
    """Adds `_HEADERS` to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                others = [field for field in message["headers"] if field[0] not in _HEADERS]
                message = {**message, "headers": [*others, *_HEADERS.items()]}
            await send(message)

        await self._app(scope, receive, send_with_headers)
