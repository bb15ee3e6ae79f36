"""The same agent behind each framework: POST /agent streams what `agent(key)` yields, `key` being a query parameter.

Every framework is imported when it is asked for; none but Starlette and FastAPI has to be there.
"""

import os
import types
from collections.abc import AsyncIterator, Callable
from typing import Any, NoReturn

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.robustness.exchange import END, EVENT_STREAM, body

Agent = Callable[[str], AsyncIterator[bytes]]
EVENTS = "text/event-stream"


def asgi(agent: Agent) -> ASGIApp:
    """No framework at all. It does not look out for a disconnect."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        parts = agent(scope["query_string"].decode().removeprefix("key="))
        await send(EVENT_STREAM)
        try:
            async for part in parts:
                await send(body(part))
        finally:
            await parts.aclose()  # type: ignore[attr-defined]  # it is a generator
        await send(END)

    return app


def starlette(agent: Agent) -> ASGIApp:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    async def endpoint(request: Request) -> StreamingResponse:
        return StreamingResponse(agent(request.query_params.get("key", "")), media_type=EVENTS)

    return Starlette(routes=[Route("/agent", endpoint, methods=["POST"])])


def fastapi(agent: Agent) -> ASGIApp:
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse

    app = FastAPI()

    @app.post("/agent")
    async def endpoint(key: str = "") -> StreamingResponse:
        return StreamingResponse(agent(key), media_type=EVENTS)

    return app


def litestar(agent: Agent) -> ASGIApp:
    from litestar import Litestar, Request, post
    from litestar.response import Stream

    # Litestar answers a POST with 201 unless it is told otherwise.
    @post("/agent", status_code=200)
    async def endpoint(request: Request[Any, Any, Any]) -> Stream:
        return Stream(agent(request.query_params.get("key", "")), media_type=EVENTS)

    return Litestar([endpoint])  # type: ignore[return-value]  # which has types of its own for ASGI


def django(agent: Agent) -> ASGIApp:
    from django.conf import settings  # type: ignore[import-untyped]
    from django.core.asgi import get_asgi_application  # type: ignore[import-untyped]
    from django.http import HttpRequest, StreamingHttpResponse  # type: ignore[import-untyped]
    from django.urls import path  # type: ignore[import-untyped]

    async def endpoint(request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(agent(request.GET.get("key", "")), content_type=EVENTS)

    urls = types.ModuleType("urls")
    urls.urlpatterns = [path("agent", endpoint)]  # type: ignore[attr-defined]  # where Django looks
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], SECRET_KEY="x", MIDDLEWARE=[], LOGGING_CONFIG=None)
    settings.ROOT_URLCONF = urls
    return get_asgi_application()  # type: ignore[no-any-return]


def quart(agent: Agent) -> ASGIApp:
    from quart import Quart, Response, request

    app = Quart(__name__)

    @app.post("/agent")
    async def endpoint() -> Response:
        response = Response(agent(request.args.get("key", "")), content_type=EVENTS)
        response.timeout = None
        return response

    return app  # type: ignore[return-value]  # which has types of its own for ASGI


FRAMEWORKS: dict[str, Callable[[Agent], ASGIApp]] = {
    make.__name__: make for make in (asgi, starlette, fastapi, litestar, django, quart)
}
ON_TRIO = ("asgi", "starlette", "fastapi", "litestar")
"""Those that run there; Quart has a sibling for it, Django nothing."""


def build(framework: str, agent: Agent) -> ASGIApp:
    """The app; where the framework is not installed the test is skipped, and fails under CI."""
    try:
        return FRAMEWORKS[framework](agent)
    except ModuleNotFoundError as error:
        missing(f"{framework} is not installed: {error}")


def missing(reason: str) -> NoReturn:
    """Skip, but never under CI: a skip there would be green without having proved anything."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
