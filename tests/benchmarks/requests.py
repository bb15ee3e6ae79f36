"""What a request costs that is set up, or that is not ours, as a multiple of what Starlette takes to match one route."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import starlette.routing
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.benchmarks.timing import Spread, Turn, alternate

MANY = 1_000
REPEATED = 200
RUN = [
    b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n',
    b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}\n\n',
]
_POSTED = (
    b'{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"forwardedProps":{},'
    b'"messages":[{"id":"u","role":"user","content":"hello"}]}'
)


def answering(media_type: bytes, bodies: Iterable[bytes]) -> ASGIApp:
    """An app of ready messages."""
    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", media_type)]}
    messages: list[Message] = [
        start,
        *[{"type": "http.response.body", "body": body, "more_body": True} for body in bodies],
        {"type": "http.response.body", "body": b"", "more_body": False},
    ]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return app


def request(path: str = "/agent", method: str = "POST", client: bytes | None = None) -> Scope:
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"accept", b"text/event-stream")]
    if client is not None:
        headers.append((b"x-ag-ui-client-version", client))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": headers,
    }


def answered(app: ASGIApp, repeated: int, **members: Any) -> Turn:
    """A turn of many requests, each with a scope of its own, as a server makes it."""

    async def take() -> None:
        for _ in range(repeated):
            await app(request(**members), _receive, _send)

    return take


async def _receive() -> Message:
    return {"type": "http.request", "body": _POSTED, "more_body": False}


async def _send(message: Message) -> None:
    pass


def matching(repeated: int = REPEATED) -> Turn:
    """What all is measured against: one route with a parameter, and a path that it takes."""
    route = starlette.routing.Route("/agents/{name}", lambda request: None, methods=["POST"])
    scope = {"type": "http", "method": "POST", "path": "/agents/a", "root_path": "", "path_params": {}}

    async def take() -> None:
        for _ in range(repeated):
            route.matches(scope)

    return take


def cases(repeated: int = REPEATED) -> dict[str, tuple[Turn, Turn]]:
    """By name: what is measured, and the same without the middleware, or without that one feature of it, so often."""
    stream, answer = answering(b"text/event-stream", RUN), answering(b"application/json", [b"{}"])
    one = Settings(routes=[Route(path="/agent")])
    many = Settings(routes=[Route(path=f"/agents/{number}/{{name}}") for number in range(MANY)])

    def beside(app: ASGIApp, settings: Settings, **members: Any) -> tuple[Turn, Turn]:
        return answered(AGUIMiddleware(app, settings), repeated, **members), answered(app, repeated, **members)

    return {
        "a stream, 0.0.58": beside(stream, one, client=b"0.0.58"),
        "a stream, 0.0.36": beside(stream, one, client=b"0.0.36"),
        "a stream, 1.0.0": beside(stream, one, client=b"1.0.0"),
        "a stream, current": beside(stream, one),
        "another path": beside(answer, one, path="/other"),
        "another method": beside(answer, one, method="GET"),
        "a JSON answer": beside(answer, one),
        "1,000 routes, none matches": beside(answer, many, path="/other"),
        "1,000 routes, the last matches": beside(answer, many, path=f"/agents/{MANY - 1}/a"),
        **_features(stream, repeated),
    }


def _features(app: ASGIApp, repeated: int) -> dict[str, tuple[Turn, Turn]]:
    """What one feature adds to a stream, with a store that keeps nothing of it: it is read, and not written."""
    routes = [Route(path="/agent")]

    def compared(having: Settings, lacking: Settings, client: bytes | None = None) -> tuple[Turn, Turn]:
        return (
            answered(AGUIMiddleware(app, having), repeated, client=client),
            answered(AGUIMiddleware(app, lacking), repeated, client=client),
        )

    plain = Settings(routes=routes, keep_alive=0, warn=False)
    return {
        "keep-alive": compared(Settings(routes=routes, warn=False), plain),
        "the look for faults": compared(Settings(routes=routes, keep_alive=0), plain),
        "a history in memory": compared(
            Settings(routes=routes, keep_alive=0, warn=False, history="memory://"), plain, b"0.0.58"
        ),
    }


async def measure(rounds: int, only: Callable[[str], bool] = lambda _: True) -> Mapping[str, Spread]:
    """What the middleware adds to each kind of request, in matches of one route."""
    chosen = {name: pair for name, pair in cases().items() if only(name)}
    turns = {"match": matching()}
    for name, (with_middleware, bare) in chosen.items():
        turns |= {name: with_middleware, f"{name}, bare": bare}
    times = await alternate(turns, rounds)
    return {
        name: Spread.of(
            (mine - bare) / match
            for mine, bare, match in zip(times[name], times[f"{name}, bare"], times["match"], strict=True)
        )
        for name in chosen
    }
