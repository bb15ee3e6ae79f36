"""What the servers of `tests.robustness.paths` serve: a secret in each framework, wrapped as the request's header says.

`x-scenario: FRAMEWORK CONFIGURATION ROOT`. Each framework serves the agent with any method at /agent, /public/{name},
/files/{rest} and /mounted/agent; /open is not there. The agent streams the run of `tests.robustness.agents`. In a second
turn it repeats the conversation that it was given in each way that there is, without tags.
"""

import json
import types
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.robustness.agents import FRAMES
from tests.robustness.exchange import frame

EVENTS = "text/event-stream"
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH"]
OWN_ROOT = "/api"
"""The root path that an app sets for itself, where ROOT is `own`."""

OWN_ROOTS = ("fastapi", "django")
"""The frameworks that know such a thing."""

HIDDEN = ["/agent", "/public/{name}", "/files/{rest:path}", "/mounted/agent"]


RESTORED = b"with what it was not given"
"""What the parent says where the conversation of a second turn holds what the client of the first did not get."""

_posted: ContextVar[bytes] = ContextVar("posted", default=b"")


async def secret() -> AsyncIterator[bytes]:
    """The answer of the agent to what was posted."""
    posted = json.loads(_posted.get() or b"{}")
    turn = FRAMES if len(posted.get("messages", ())) < 2 else _second_turn(posted)
    for each in turn:
        yield each


def _second_turn(posted: dict[str, Any]) -> Iterator[bytes]:
    """A run that repeats what subagents have said: in the echo, a snapshot, and texts that go on."""
    untagged = [{name: message[name] for name in message if name != "subagentRunId"} for message in posted["messages"]]
    kept = [message for message in untagged if "SECRET" in str(message)]
    yield frame({"type": "RUN_STARTED", "threadId": "t", "runId": "r2", "input": {**posted, "messages": untagged}})
    yield from FRAMES[1:4]
    yield frame({"type": "MESSAGES_SNAPSHOT", "messages": untagged})
    for message in kept:
        yield frame({"type": "TEXT_MESSAGE_CONTENT", "messageId": message["id"], "delta": "SECRET too"})
    text = RESTORED.decode() if kept else "as posted"
    yield frame({"type": "TEXT_MESSAGE_CHUNK", "messageId": "p2", "role": "assistant", "delta": text})
    yield FRAMES[-1]


def reading(app: ASGIApp) -> ASGIApp:
    """`app`, whose agent knows what was posted: each framework has another way to read it."""

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        _posted.set(b"".join(message.get("body", b"") for message in messages))

        async def again() -> Message:
            return messages.pop(0) if messages else await receive()

        await app(scope, again, send)

    return read


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
    "alone with history": lambda app: AGUIMiddleware(app, Settings(routes=_HIDING, history="memory://")),
    "with history beside a catch-all": lambda app: AGUIMiddleware(
        app, Settings(routes=[*_HIDING, Route(client="0.0.45")], history="memory://")
    ),
    "wrapped with history": lambda app: AGUIMiddleware(app, visibility="hidden", history="memory://"),
    "bare": lambda app: app,
}
"""In all but the last the secret is hidden; the last shows that the requests reach it."""


@cache
def served(framework: str, configuration: str, own_root: bool) -> ASGIApp:
    return CONFIGURATIONS[configuration](reading(FRAMEWORKS[framework](own_root)))


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
