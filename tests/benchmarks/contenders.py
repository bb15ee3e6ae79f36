"""What is compared: ours, what people would write instead, and the floor. Each as short as its author would have it."""

import json
from collections.abc import Callable
from typing import Any, cast

import msgspec
from ag_ui.core import Event
from ag_ui.encoder import EventEncoder
from pydantic import TypeAdapter
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Route, Settings
from agui_middleware.asgi.fault_watch import FaultWatch
from agui_middleware.config.plans import Plans
from agui_middleware.config.routing import Match

Wrap = Callable[[ASGIApp], ASGIApp]

TAG = "subagentRunId"


def bare(app: ASGIApp) -> ASGIApp:
    return app


def wrapping(wrap_send: Callable[[Send], Send]) -> Wrap:
    """A middleware that only wraps `send`."""

    def wrap(app: ASGIApp) -> ASGIApp:
        async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
            await app(scope, receive, wrap_send(send))

        return wrapped

    return wrap


def nothing(send: Send) -> Send:
    """A send wrapper that does nothing: the least that one in Python can be."""

    async def send_on(message: Message) -> None:
        await send(message)

    return send_on


def floor(send: Send) -> Send:
    """Framing, and one decode and encode of the same bytes by msgspec: the least that a rewriting one can be."""
    decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode

    async def send_encoded(message: Message) -> None:
        body = message.get("body", b"")
        if body.startswith(b"data: "):
            body = b"data: " + encode(decode(body[6:-2])) + b"\n\n"
            message = {"type": "http.response.body", "body": body, "more_body": True}
        await send(message)

    return send_encoded


def naive(send: Send) -> Send:
    """What one writes in ten minutes; it forgets nested messages, chunks, ids and cut frames."""

    async def send_untagged(message: Message) -> None:
        body = message.get("body", b"")
        if body.startswith(b"data: "):
            event = json.loads(body[6:])
            event.pop(TAG, None)
            message = {**message, "body": b"data: " + json.dumps(event).encode() + b"\n\n"}
        await send(message)

    return send_untagged


def models(send: Send) -> Send:
    """The same through ag-ui-protocol's models and its encoder."""
    validate, encoder = TypeAdapter[Any](Event).validate_json, EventEncoder()

    async def send_untagged(message: Message) -> None:
        body = message.get("body", b"")
        if body.startswith(b"data: "):
            event = validate(body[6:])
            if getattr(event, "subagent_run_id", None) and not event.type.startswith("SUBAGENT_"):
                event = event.model_copy(update={"subagent_run_id": None})
            message = {**message, "body": encoder.encode(event).encode()}
        await send(message)

    return send_untagged


class NaiveBaseHTTP(BaseHTTPMiddleware):
    """The naive one as Starlette's tutorial of middlewares has it."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        response = cast(StreamingResponse, await call_next(request))  # as BaseHTTPMiddleware's are
        bodies: Any = response.body_iterator

        async def untagged() -> Any:
            async for body in bodies:
                if body.startswith(b"data: "):
                    event = json.loads(body[6:])
                    event.pop(TAG, None)
                    body = b"data: " + json.dumps(event).encode() + b"\n\n"
                yield body

        response.body_iterator = untagged()
        return response


def ours(visibility: Any = "auto", client: str | None = None) -> Wrap:
    release = None if client is None else ClientVersion.parse(client)
    settings = Settings(routes=[Route(visibility=visibility, client=release)], warn=False, default_client="current")
    return lambda app: AGUIMiddleware(app, settings)


def look_for_faults(app: ASGIApp) -> ASGIApp:
    """What is done beside the first responses of a route: nothing is rewritten, a copy is examined."""

    of_route = Plans([Route(path="/agent")], {}).of(Match(0, False))

    async def examined(scope: Scope, receive: Receive, send: Send) -> None:
        watch = FaultWatch(lambda route, feature: None, max_event_bytes=10 * 1024 * 1024)
        await watch.watch(app, of_route)(scope, receive, send)

    return examined


OURS: dict[str, Wrap] = {
    "passing": ours(),
    "inline": ours("inline"),
    "hidden": ours("hidden"),
    "0.0.58": ours(client="0.0.58"),
    "0.0.45": ours(client="0.0.45"),
    "0.0.36": ours(client="0.0.36"),
}
CONTENDERS: dict[str, Wrap] = {
    "bare": bare,
    "nothing": wrapping(nothing),
    "floor": wrapping(floor),
    "fault watch": look_for_faults,
    **OURS,
    "naive json": wrapping(naive),
    "models": wrapping(models),
    "BaseHTTP": NaiveBaseHTTP,
}
