"""Faults of the app behind the middleware: each has one result, whatever the route does."""

import asyncio
import logging
from typing import Any, Literal

import anyio
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.robustness.agents import FRAMES, SEEN
from tests.robustness.exchange import END, EVENT_STREAM, START, Exchange, body, sends
from tests.robustness.leaks import on_every_loop, run_clean

Visibility = Literal["attributed", "inline", "hidden"]
VISIBILITIES: tuple[Visibility, ...] = ("attributed", "inline", "hidden")
every_visibility = pytest.mark.parametrize("visibility", VISIBILITIES)


class AppError(Exception):
    """What the app raises of its own."""


def wrapped(app: ASGIApp, visibility: Visibility, **settings: Any) -> AGUIMiddleware:
    return AGUIMiddleware(app, Settings(routes=[Route(path="/agent", visibility=visibility)], **settings))


def started(**changes: Any) -> Message:
    return {**EVENT_STREAM, **changes}


@every_visibility
@pytest.mark.parametrize("sent", [0, 1, 7, 15])
@on_every_loop
async def test_an_error_of_the_app_reaches_the_server_and_ends_the_response_as_it_is(
    visibility: Visibility, sent: int
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in [EVENT_STREAM, *map(body, FRAMES)][:sent]:
            await send(message)
        raise AppError

    exchange = Exchange()
    with pytest.raises(AppError):
        await exchange.run(wrapped(app, visibility))
    assert not exchange.complete
    assert exchange.started == (sent > 0)
    assert exchange.events == SEEN[visibility][: len(exchange.events)]
    assert "RUN_ERROR" not in exchange.types


@every_visibility
@on_every_loop
async def test_an_error_inside_an_event_leaves_the_half_event_behind(visibility: Visibility) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(body(b"".join(FRAMES[:8]) + FRAMES[8][:-30]))
        raise AppError

    exchange = Exchange()
    with pytest.raises(AppError):
        await exchange.run(wrapped(app, visibility))
    assert exchange.body.endswith(b"\n\n")
    assert exchange.events == SEEN[visibility][: len(exchange.events)]


@every_visibility
@on_every_loop
async def test_an_app_that_never_ends_its_body_is_not_ended_for_it(visibility: Visibility) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        for part in FRAMES:
            await send(body(part))

    exchange = await Exchange().run(wrapped(app, visibility))
    assert exchange.events == SEEN[visibility]
    assert not exchange.complete


@every_visibility
@on_every_loop
async def test_an_app_that_sends_nothing_sends_nothing(visibility: Visibility) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()

    assert (await Exchange().run(wrapped(app, visibility))).sent == []


@every_visibility
@on_every_loop
async def test_a_body_before_the_start_is_refused(visibility: Visibility) -> None:
    exchange = Exchange()
    with pytest.raises(RuntimeError, match=r"http\.response\.body"):
        await exchange.run(wrapped(sends_messages(body(FRAMES[8])), visibility))
    assert exchange.sent == []


@every_visibility
@on_every_loop
async def test_a_second_start_is_refused_and_tells_nothing(visibility: Visibility) -> None:
    second = started(headers=[(b"content-type", b"text/plain"), (b"x-told", b"SECRET")])
    exchange = Exchange()
    with pytest.raises(RuntimeError, match=r"http\.response\.start"):
        await exchange.run(wrapped(sends_messages(EVENT_STREAM, body(FRAMES[0]), second), visibility))
    assert exchange.events == SEEN[visibility][:1]
    assert [message["type"] for message in exchange.sent].count(START) == 1


@every_visibility
@on_every_loop
async def test_a_body_behind_the_end_is_refused_as_from_a_client_that_has_left(visibility: Visibility) -> None:
    refused: list[Exception] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await sends(*FRAMES)(scope, receive, send)
        try:
            await send(body(b"data: SECRET\n\n"))
        except OSError as error:
            refused.append(error)

    exchange = await Exchange().run(wrapped(app, visibility))
    assert len(refused) == 1
    assert exchange.events == SEEN[visibility]
    assert exchange.complete


@pytest.mark.parametrize("length", [b"0", b"7", b"99999999", b"-1", b"x"])
@every_visibility
@on_every_loop
async def test_a_content_length_is_taken_off(visibility: Visibility, length: bytes) -> None:
    fields = [*EVENT_STREAM["headers"], (b"Content-Length", length)]
    exchange = await Exchange().run(wrapped(sends(*FRAMES, start=started(headers=fields)), visibility))
    assert b"content-length" not in dict(exchange.sent[0]["headers"])
    assert exchange.events == SEEN[visibility]


@pytest.mark.parametrize(
    "fields", [[(b"content-type", 5)], [(None, b"x")], [b"content-type"], [(b"a", b"b", b"c")], 7, [(b"a", ["b"])]]
)
@every_visibility
@on_every_loop
async def test_headers_of_a_wrong_type_are_refused_and_the_next_start_counts(
    visibility: Visibility, fields: Any
) -> None:
    """An error handler that answers in the first start's place is not the way round the filters."""
    refused: list[Exception] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send(started(headers=fields))
        except (TypeError, ValueError) as error:
            refused.append(error)
        await sends(*FRAMES)(scope, receive, send)

    exchange = await Exchange().run(wrapped(app, visibility))
    assert len(refused) == 1
    assert exchange.events == SEEN[visibility]


@pytest.mark.parametrize(
    "text", ["TEXT/Event-Stream", b"text/event-stream;charset=UTF-8", bytearray(b"text/event-stream")]
)
@every_visibility
@on_every_loop
async def test_headers_in_any_spelling_of_bytes_count(visibility: Visibility, text: Any) -> None:
    app = sends(*FRAMES, start=started(headers=(("Content-Type", text),)))
    assert (await Exchange().run(wrapped(app, visibility))).events == SEEN[visibility]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@every_visibility
@on_every_loop
async def test_bodies_of_anything_like_bytes_count(visibility: Visibility, kind: Any) -> None:
    """Starlette's StreamingResponse hands memoryviews on, and servers take them."""
    app = sends(*map(kind, FRAMES))
    exchange = await Exchange().run(wrapped(app, visibility))
    assert exchange.events == SEEN[visibility]
    assert exchange.complete


@pytest.mark.parametrize("part", [None, "data: x\n\n", 5, ["x"]])
@every_visibility
@on_every_loop
async def test_a_body_of_a_wrong_type_raises_into_the_app_and_ends_the_response(
    visibility: Visibility, part: Any
) -> None:
    exchange = Exchange()
    with pytest.raises(TypeError, match="bytes-like"):
        await exchange.run(wrapped(sends(FRAMES[0], part, FRAMES[8]), visibility))
    assert exchange.events == SEEN[visibility][:1]
    assert not exchange.complete


@every_visibility
@on_every_loop
async def test_empty_bodies_change_nothing(visibility: Visibility) -> None:
    parts = [part for frame in FRAMES for part in (b"", frame, b"")]
    exchange = await Exchange().run(wrapped(sends(*parts), visibility))
    assert exchange.events == SEEN[visibility]
    assert exchange.complete


@every_visibility
@on_every_loop
async def test_a_response_without_a_body_ends(visibility: Visibility) -> None:
    exchange = await Exchange().run(wrapped(sends(), visibility))
    assert (exchange.body, exchange.complete) == (b"", True)


@every_visibility
def test_a_compressed_stream_passes_with_one_warning_or_is_refused(
    visibility: Visibility, caplog: pytest.LogCaptureFixture
) -> None:
    start = started(headers=[*EVENT_STREAM["headers"], (b"content-encoding", b"gzip")])
    app = wrapped(sends(b"\x1f\x8bSECRET", start=start), visibility)
    exchanges: list[Exchange] = []

    async def scenario() -> None:
        exchanges.extend([await Exchange().run(app), await Exchange().run(app)])

    run_clean(scenario)
    logged = [record.levelno for record in caplog.records]
    for exchange in exchanges:
        if visibility == "hidden":
            assert exchange.sent[0]["status"] == 500
            assert b"SECRET" not in exchange.body
        else:
            assert exchange.body == b"\x1f\x8bSECRET"
        assert exchange.complete
    assert logged == [logging.ERROR if visibility == "hidden" else logging.WARNING]


@pytest.mark.parametrize("part", [b"data: " + b"x" * 600, b"data: x\n" * 200, b": " + b"x" * 2000, b"id: 1\n" * 500])
@every_visibility
@on_every_loop
async def test_an_event_without_end_is_ended(visibility: Visibility, part: bytes) -> None:
    parts = [FRAMES[0], *(part[index : index + 50] for index in range(0, len(part), 50)), FRAMES[8]]
    exchange = await Exchange().run(wrapped(sends(*parts), visibility, max_event_bytes=500))
    assert exchange.types == ["RUN_STARTED", "RUN_ERROR"]
    assert exchange.events[-1]["code"] == "AGUI_EVENT_TOO_LARGE"
    assert exchange.complete


@every_visibility
@on_every_loop
async def test_a_body_sent_while_the_start_is_on_its_way_waits_for_it(visibility: Visibility) -> None:
    """Two tasks of one response, the second of which does not wait for the first: nothing passes unread."""
    on_its_way = anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def start() -> None:
            await send(EVENT_STREAM)

        async with anyio.create_task_group() as group:
            group.start_soon(start)
            await on_its_way.wait()
            await send(body(b"".join(FRAMES)))
        await send(END)

    def notice(message: Message) -> None:
        if message["type"] == START:
            on_its_way.set()

    exchange = await Exchange(on_send=notice, slow=True).run(wrapped(app, visibility))
    assert exchange.events == SEEN[visibility]
    assert exchange.complete


@every_visibility
def test_a_task_that_the_app_left_sending_is_waited_for(visibility: Visibility) -> None:
    """An app may return while a task of its own is still in `send`; its filters are not unwound under its feet."""
    tasks: list[asyncio.Task[None]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)

        async def last_words() -> None:
            await send(body(b"".join(FRAMES)))

        tasks.append(asyncio.create_task(last_words()))
        await asyncio.sleep(0)

    async def scenario() -> None:
        exchange = await Exchange().run(wrapped(app, visibility))
        await tasks[0]
        assert exchange.events == SEEN[visibility]

    run_clean(scenario)


@on_every_loop
async def test_an_error_of_the_app_beside_the_end_of_the_response_is_not_swallowed() -> None:
    """`send` says that the client has left; what the app raises beside that is still its own."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(failing)
            await sends(*FRAMES)(scope, receive, send)
            await send(body(b"too late"))

    async def failing() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise AppError

    with pytest.raises(BaseExceptionGroup) as caught:
        await Exchange().run(wrapped(app, "hidden"))
    assert caught.group_contains(AppError)


def sends_messages(*messages: Message) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return app
