"""What the servers of `tests.robustness.paths` serve: a secret in each framework, wrapped as the request's header says.

`x-scenario: FRAMEWORK CONFIGURATION ROOT`. Each framework serves the run of `tests.robustness.agents` with any method at
/agent, /public/{name}, /files/{rest} and /mounted/agent; /open is not there.
"""

import types
from collections.abc import AsyncIterator, Callable
from functools import cache
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.robustness.agents import FRAMES

EVENTS = "text/event-stream"
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH"]
OWN_ROOT = "/api"
"""The root path that an app sets for itself, where ROOT is `own`."""

OWN_ROOTS = ("fastapi", "django")
"""The frameworks that know such a thing."""

HIDDEN = ["/agent", "/public/{name}", "/files/{rest:path}", "/mounted/agent"]


async def secret() -> AsyncIterator[bytes]:
    for frame in FRAMES:
        yield frame


def starlette(own_root: bool) -> ASGIApp:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import StreamingResponse
    from starlette.routing import Mount
    from starlette.routing import Route as At

    async def endpoint(_: Request) -> StreamingResponse:
        return StreamingResponse(secret(), media_type=EVENTS)

    paths = ["/agent", "/public/{name}", "/files/{rest:path}"]
    routes = [At(path, endpoint, methods=METHODS) for path in paths]
    return Starlette(routes=[*routes, Mount("/mounted", Starlette(routes=[At("/agent", endpoint, methods=METHODS)]))])


def fastapi(own_root: bool) -> ASGIApp:
    from fastapi import FastAPI
    from fastapi.responses import StreamingResponse

    async def endpoint() -> StreamingResponse:
        return StreamingResponse(secret(), media_type=EVENTS)

    app, mounted = FastAPI(), FastAPI()
    app.root_path = OWN_ROOT if own_root else ""
    for path in ("/agent", "/public/{name}", "/files/{rest:path}"):
        app.add_api_route(path, endpoint, methods=METHODS)
    mounted.add_api_route("/agent", endpoint, methods=METHODS)
    app.mount("/mounted", mounted)
    return app


def litestar(own_root: bool) -> ASGIApp:
    from litestar import HttpMethod, Litestar, route
    from litestar.response import Stream

    def at(path: str) -> Any:
        @route(path, http_method=[HttpMethod(method) for method in METHODS], status_code=200)
        async def endpoint() -> Stream:
            return Stream(secret(), media_type=EVENTS)

        return endpoint

    paths = ["/agent", "/public/{name:str}", "/files/{rest:path}", "/mounted/agent"]
    return Litestar([at(path) for path in paths])  # type: ignore[return-value]  # which has types of its own for ASGI


def quart(own_root: bool) -> ASGIApp:
    from quart import Quart, Response

    app = Quart(__name__)

    async def endpoint(**_: str) -> Response:
        return Response(secret(), content_type=EVENTS)

    for number, path in enumerate(("/agent", "/public/<name>", "/files/<path:rest>", "/mounted/agent")):
        app.add_url_rule(path, str(number), endpoint, methods=METHODS)
    return app  # type: ignore[return-value]  # which has types of its own for ASGI


def django(own_root: bool) -> ASGIApp:
    from django.conf import settings  # type: ignore[import-untyped]
    from django.core.asgi import get_asgi_application  # type: ignore[import-untyped]
    from django.http import HttpRequest, StreamingHttpResponse  # type: ignore[import-untyped]
    from django.urls import path  # type: ignore[import-untyped]

    async def endpoint(_: HttpRequest, **__: str) -> StreamingHttpResponse:
        return StreamingHttpResponse(secret(), content_type=EVENTS)

    urls = types.ModuleType("urls")
    paths = ["agent", "public/<str:name>", "files/<path:rest>", "mounted/agent"]
    urls.urlpatterns = [path(each, endpoint) for each in paths]  # type: ignore[attr-defined]  # where Django looks
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], SECRET_KEY="x", MIDDLEWARE=[], LOGGING_CONFIG=None, ROOT_URLCONF=urls)
    inner = get_asgi_application()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        settings.FORCE_SCRIPT_NAME = OWN_ROOT if own_root else None  # one for all apps; requests come one at a time
        await inner(scope, receive, send)

    return app


FRAMEWORKS: dict[str, Callable[[bool], ASGIApp]] = {
    make.__name__: make for make in (starlette, fastapi, litestar, quart, django)
}
_HIDING = [Route(path=path, visibility="hidden") for path in HIDDEN]
CONFIGURATIONS: dict[str, Callable[[ASGIApp], ASGIApp]] = {
    "alone": lambda app: AGUIMiddleware(app, Settings(routes=_HIDING)),
    "beside a catch-all": lambda app: AGUIMiddleware(app, Settings(routes=[*_HIDING, Route()])),
    "beside more": lambda app: AGUIMiddleware(
        app,
        Settings(
            routes=[Route(path="/open"), *_HIDING, Route(path="/{rest:path}", methods=METHODS, client="0.0.59")],
        ),
    ),
    "beside one that is off": lambda app: AGUIMiddleware(app, Settings(routes=[*_HIDING, Route(enabled=False)])),
    "wrapped": lambda app: AGUIMiddleware(app, visibility="hidden"),
    "bare": lambda app: app,
}
"""In all but the last the secret is hidden; the last shows that the requests reach it."""


@cache
def served(framework: str, configuration: str, own_root: bool) -> ASGIApp:
    return CONFIGURATIONS[configuration](FRAMEWORKS[framework](own_root))


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        await _lifespan(scope, receive, send)
        return
    scenario = dict(scope["headers"]).get(b"x-scenario", b"").decode()
    if scenario:
        framework, root, configuration = scenario.split(" ", 2)
        await served(framework, configuration, root == "own")(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "lifespan":
        raise NotImplementedError(scope["type"])
    for answer in ("lifespan.startup.complete", "lifespan.shutdown.complete"):
        await receive()
        await send({"type": answer})
