"""Where a route hides, nothing passes that may be an AG-UI stream: other paths, other labels, other opinions of the app."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from litestar import Litestar, post
from litestar.params import FromPath
from litestar.response import Stream as LitestarStream
from starlette.types import ASGIApp, Message

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from agui_middleware.config.plan import Choice
from agui_middleware.testing import encode_events
from tests.notation import stream
from tests.robustness.exchange import EVENT_STREAM, START, Exchange, sends

SECRET = encode_events(stream("RS r; TS n @s; TC n SECRET @s; TE n @s; TS m; TE m; RF r"))
HIDDEN = encode_events(stream("RS r; TS m; TE m; RF r"))
PRIVATE = Route(path="/private", visibility="hidden")


def behind(app: ASGIApp, *routes: Route, **more: Any) -> AGUIMiddleware:
    return AGUIMiddleware(app, Settings(routes=list(routes) or [PRIVATE]), **more)


def started(*headers: tuple[bytes, bytes], status: int = 200) -> Message:
    return {"type": START, "status": status, "headers": list(headers)}


def typed(*types: bytes, **more: Any) -> Message:
    return started(*((b"content-type", type) for type in types), **more)


# Paths that no route has.


async def test_a_stream_of_a_path_that_no_route_has_is_hidden_and_the_log_says_which_line_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = behind(sends(SECRET))
    for path in ("/other", "/private", "/other", "/third"):
        assert (await Exchange(path).run(app)).body == HIDDEN
    [record] = caplog.records
    assert (record.name, record.levelno) == ("agui_middleware.request", logging.WARNING)
    assert record.getMessage() == (
        "subagents are hidden in a stream of POST '/other': a route hides, and none has this path; Route(path='/other') "
        "decides for it"
    )
    assert {name: vars(record)[name] for name in ("path", "method", "count")} == {
        "path": "/other",
        "method": "POST",
        "count": 1,
    }


@pytest.mark.parametrize(
    ("path", "method", "said"),
    [
        ("/other", "GET", "Route(path='/other', methods=['GET']) decides for it"),
        ("/a\nb", "POST", r"a stream of POST '/a\nb': a route hides, and servers read this path differently"),
        ("/" + "x" * 300, "POST", f"POST '/{'x' * 199}': a route hides"),
    ],
)
async def test_what_is_logged_of_a_path(path: str, method: str, said: str, caplog: pytest.LogCaptureFixture) -> None:
    assert (await Exchange(path, method=method).run(behind(sends(SECRET)))).body == HIDDEN
    [message] = caplog.messages
    assert said in message


async def test_the_line_in_the_log_decides_for_the_path() -> None:
    line = Route(path="/other")
    assert (await Exchange("/other").run(behind(sends(SECRET), PRIVATE, line))).body == SECRET


async def test_what_is_not_an_event_stream_passes_with_the_same_objects_on_a_path_that_no_route_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for type_ in (b"text/html", b"application/json", b"text/plain", b"application/octet-stream"):
        start = typed(type_)
        start["headers"] += [(b"content-encoding", b"gzip"), (b"etag", b"1"), (b"content-length", b"6")]
        exchange = await Exchange("/static", method="GET").run(behind(sends(b"SECRET", start=start)))
        assert exchange.sent[0] is start
    assert caplog.messages == []


async def test_a_stream_that_is_not_ag_ui_passes_on_a_path_that_no_route_has() -> None:
    foreign = b'data: {"choices":[{"delta":{"content":"x"}}]}\r\n\r\ndata: [DONE]\r\n\r\n'
    assert (await Exchange("/v1/chat").run(behind(sends(foreign)))).body == foreign
    assert (await Exchange("/v1/chat").run(behind(sends(foreign, SECRET)))).body == foreign + HIDDEN


@pytest.mark.parametrize(
    ("method", "accept", "kept"),
    [("GET", b"*/*", True), ("GET", b"text/event-stream", False), ("POST", b"*/*", False)],
)
async def test_files_may_be_compressed_and_cut_where_no_route_names_the_path(
    method: str, accept: bytes, kept: bool
) -> None:
    """But not for a client that asks for events, which could not be read then."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append("range" in [name.decode() for name, _ in scope["headers"]])
        await send(typed(b"text/html"))

    asked = [(b"accept", accept), (b"accept-encoding", b"gzip"), (b"range", b"bytes=1-")]
    for middleware in (behind(app), AGUIMiddleware(app, client="0.0.58"), AGUIMiddleware(app, visibility="hidden")):
        await Exchange("/static", method=method, headers=asked).run(middleware)
    assert seen == [kept] * 3
    await Exchange("/private", method=method, headers=asked).run(behind(app))
    assert seen.pop() is False


# Other labels.

UNLABELLED = [
    *(
        typed(),
        typed(b""),
        typed(b"event-stream"),
        typed(b"text/event-stream, text/plain"),
        typed(b"text/html, text/css"),
    ),
    *(typed(b"text/html", b"text/event-stream"), typed(b"text/html", b"text/css"), typed(b";")),
]
TEXTS = [typed(b"text/plain; charset=utf-8"), typed(b"Application/Octet-Stream")]


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("start", [*UNLABELLED, *TEXTS])
async def test_a_stream_with_any_label_that_clients_read_is_hidden(start: Message, status: int) -> None:
    """@ag-ui/client reads a body of any type as events."""
    start = {**start, "status": status}
    one = AGUIMiddleware(sends(SECRET, start=start), visibility="hidden")
    for app in (behind(one.app), one):
        assert (await Exchange("/private").run(app)).body == HIDDEN
    elsewhere = await Exchange("/other").run(behind(one.app))
    assert elsewhere.body == (SECRET if start["headers"] in [text["headers"] for text in TEXTS] else HIDDEN)


@pytest.mark.parametrize(
    "start", [start for start in [*UNLABELLED, *TEXTS] if b"text/event-stream" not in str(start).encode()]
)
@pytest.mark.parametrize(
    "content", [b"Internal Server Error", b'{"detail":[{"type":"missing"}]}', b"\x89PNG\r\n\x1a\n\0{", b""]
)
async def test_what_is_not_ag_ui_passes_with_any_label(start: Message, content: bytes) -> None:
    exchange = await Exchange("/private").run(behind(sends(content, start=start)))
    assert exchange.body == content


@pytest.mark.parametrize("coding", [b"gzip", b"identity"])
async def test_a_stream_without_a_label_that_cannot_be_read_is_refused(coding: bytes) -> None:
    start = started((b"content-encoding", coding))
    exchange = await Exchange("/private").run(behind(sends(SECRET, start=start)))
    assert exchange.sent[0]["status"] == (200 if coding == b"identity" else 500)
    assert b"SECRET" not in exchange.body


@pytest.mark.parametrize("path", ["/private", "/other"])
async def test_a_part_of_a_recorded_stream_is_refused(path: str) -> None:
    """It may begin in the middle of an event."""
    start = started(*EVENT_STREAM["headers"], (b"Content-Range", b"bytes 5-9/99"), status=206)
    exchange = await Exchange(path).run(behind(sends(b'SECRET","subagentRunId":"s"}', start=start)))
    assert exchange.sent[0]["status"] == 500
    assert b"SECRET" not in exchange.body


@pytest.mark.parametrize(
    "start",
    [started(status=204), started(status=304), started((b"content-length", b"0"), status=307), typed(b"image/png")],
)
async def test_a_response_that_is_certainly_no_stream_passes_with_the_same_objects(start: Message) -> None:
    exchange = await Exchange("/private").run(behind(sends(b"", start=start)))
    assert exchange.sent[0] is start


async def test_filters_that_await_read_a_stream_without_a_label() -> None:
    async def without_text(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if not event.type.startswith("TEXT_"):
                yield event

    app = AGUIMiddleware(sends(SECRET, start=typed()), visibility="hidden", filters=[without_text])
    assert (await Exchange().run(app)).body == encode_events(stream("RS r; RF r"))


# What the app's framework says has answered.


@pytest.mark.parametrize("fix_framing", [True, False])
async def test_the_stricter_of_two_opinions_counts(fix_framing: bool) -> None:
    """The app has rewritten the path, and answers with a route that hides."""
    fastapi = FastAPI()

    @fastapi.post("/private")
    async def agent() -> StreamingResponse:
        return StreamingResponse(iter([SECRET]), media_type="text/event-stream")

    async def rewriting(scope: Any, receive: Any, send: Any) -> None:
        scope["path"] = "/private"
        await fastapi(scope, receive, send)

    chosen: list[Choice] = []
    settings = Settings(routes=[PRIVATE, Route()], fix_framing=fix_framing)
    app = AGUIMiddleware(rewriting, settings, on_plan=lambda _, choice: chosen.append(choice))
    exchange = await Exchange("/public").run(app)
    assert exchange.body == HIDDEN
    [choice] = chosen
    assert (choice.route, choice.plan.hides, choice.client) == (PRIVATE, True, None)


async def test_an_app_that_sets_its_own_root_path_hides_what_its_route_hides() -> None:
    prefix = "/a/b/c/d/e/f/g/h/i/j"  # longer than what is tried beforehand
    fastapi = FastAPI()
    fastapi.root_path = prefix

    @fastapi.post("/private")
    async def agent() -> StreamingResponse:
        return StreamingResponse(iter([SECRET]), media_type="text/event-stream")

    app = behind(fastapi, PRIVATE, Route())
    for path in ("/private", "/api/private", f"{prefix}/private"):
        exchange = await Exchange(path).run(app)
        assert b"SECRET" not in exchange.body


async def test_litestar_says_its_template() -> None:
    @post("/agents/{name:str}")
    async def agent(name: FromPath[str]) -> LitestarStream:
        return LitestarStream(iter([SECRET]), media_type="text/event-stream", status_code=200)

    litestar: Any = Litestar([agent])
    app = behind(litestar, Route(path="/agents/{name}", visibility="hidden"), Route())
    for path in ("/agents/x", "/agents//x", "/agents/x/", "agents/x"):
        exchange = await Exchange(path).run(app)
        assert b"SECRET" not in exchange.body
        assert exchange.body == HIDDEN or exchange.sent[0]["status"] == 404


async def test_a_compressed_stream_is_refused_where_only_the_framework_says_that_it_is_hidden() -> None:
    fastapi = FastAPI()

    @fastapi.post("/private")
    async def agent() -> StreamingResponse:
        return StreamingResponse(iter([SECRET]), headers={"content-encoding": "gzip"}, media_type="text/event-stream")

    async def rewriting(scope: Any, receive: Any, send: Any) -> None:
        scope["path"] = "/private"
        await fastapi(scope, receive, send)

    exchange = await Exchange("/public").run(behind(rewriting, PRIVATE, Route()))
    assert exchange.sent[0]["status"] == 500
    assert b"SECRET" not in exchange.body


async def test_nothing_changes_where_no_route_hides() -> None:
    start = {**EVENT_STREAM, "status": 500}
    for message in (start, *TEXTS, *UNLABELLED[:3]):
        exchange = await Exchange("/other").run(behind(sends(SECRET, start=message), Route(client="0.0.58")))
        assert exchange.sent[0] is message
