"""What becomes of one response. Its faults and disconnects, each at every moment, are in tests/robustness."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from starlette.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Filter, Route, Settings
from agui_middleware.filters import handles
from agui_middleware.testing import encode_events
from tests.conftest import Run
from tests.notation import stream
from tests.robustness.exchange import BODY, END, EVENT_STREAM, START, Exchange, body, frame, sends

Events = AsyncIterator[Event]
ATTRIBUTED = encode_events(stream("RS r; TS n @s; TE n @s; TS m; TE m; RF r"))
INLINE = encode_events(stream("RS r; TS n; TE n; TS m; TE m; RF r"))
HIDDEN = encode_events(stream("RS r; TS m; TE m; RF r"))
SEEN = {"auto": ATTRIBUTED, "inline": INLINE, "hidden": HIDDEN}
EVERY_VISIBILITY = pytest.mark.parametrize("visibility", SEEN)
A, B = frame({"type": "A"}), frame({"type": "B"})


def behind(app: ASGIApp, visibility: str = "inline", *filters: Filter, **settings: Any) -> AGUIMiddleware:
    route = Route(path="/agent", visibility=visibility, filters=list(filters))  # type: ignore[arg-type]  # any string
    return AGUIMiddleware(app, Settings(routes=[route], **settings))


def started(*headers: tuple[bytes, bytes], **members: Any) -> Message:
    return {"type": START, "status": 200, "headers": list(headers), **members}


def headers_of(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    return list(exchange.sent[0]["headers"])


# What is rewritten, and what passes.


@EVERY_VISIBILITY
@pytest.mark.parametrize(
    "content_type",
    [b"text/event-stream", b"text/event-stream; charset=utf-8", b"TEXT/Event-Stream;x=y", b" text/event-stream ;"],
)
async def test_an_event_stream_in_any_case_and_with_any_parameters_is_rewritten(
    visibility: str, content_type: bytes
) -> None:
    app = sends(ATTRIBUTED, start=started((b"Content-Type", content_type)))
    assert (await Exchange().run(behind(app, visibility))).body == SEEN[visibility]


@pytest.mark.parametrize("arriving", range(2, 8))
async def test_what_filters_hold_for_a_client_that_has_left_is_no_error(arriving: int) -> None:
    """The server raises from some event on, as ASGI has it since 2.4, and the app knows what that means."""
    events = stream("RS r; STEP+ a; TS n; TC n x; TS m; TC m y; CUSTOM a; CUSTOM b; RAW")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(OSError):
            await send(EVENT_STREAM)
            for event in events:
                await send(body(encode_events([event])))

    def leaves(_: Message) -> None:
        if len(exchange.sent) == arriving:
            raise OSError("the client has left")

    exchange = Exchange(on_send=leaves)
    await exchange.run(AGUIMiddleware(app, Settings(routes=[Route(path="/agent", client="0.0.36")])))
    assert len(exchange.sent) == arriving


@EVERY_VISIBILITY
def test_each_event_may_be_sent_by_a_task_of_its_own(run: Run, visibility: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        for part in ATTRIBUTED.split(b"\n\n")[:-1]:
            async with anyio.create_task_group() as group:
                group.start_soon(send, body(part + b"\n\n"))  # type: ignore[arg-type]  # servers give coroutines
        await send(END)

    async def scenario() -> None:
        assert (await Exchange().run(behind(app, visibility))).body == SEEN[visibility]

    run(scenario)


async def test_header_names_in_capitals_and_as_text_are_read() -> None:
    app = sends(ATTRIBUTED, start={**started(), "headers": [["Content-Type", "text/event-stream"]]})
    assert (await Exchange().run(behind(app))).body == INLINE


@pytest.mark.parametrize(
    "start",
    [
        started((b"content-type", b"application/json")),
        started((b"content-type", b"text/plain; text/event-stream")),
        started((b"content-type", b"text/html")),
        started(),
        {"type": START, "status": 200},
        {"type": START, "status": 200, "headers": None},
        started((b"content-type", b"text/event-stream"), status=201),
        started((b"content-type", b"text/event-stream"), status=204),
        started((b"content-type", b"text/event-stream"), status=422),
        started((b"content-type", b"text/event-stream"), status=500),
        started((b"content-type", b"application/vnd.ag-ui.event+proto")),
    ],
)
async def test_every_other_response_passes_with_the_same_objects(start: Message) -> None:
    messages = [start, body(ATTRIBUTED), {"type": "http.response.other"}, END]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    exchange = await Exchange().run(behind(app))
    assert [id(message) for message in exchange.sent] == [id(message) for message in messages]


@EVERY_VISIBILITY
async def test_unknown_messages_of_an_event_stream_pass_with_the_same_objects(visibility: str) -> None:
    debug: Message = {"type": "http.response.debug", "info": {}}
    hints: Message = {"type": "http.response.early_hint", "links": []}
    trailers: Message = {"type": "http.response.trailers", "headers": [], "more_trailers": False}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(debug)
        await send(hints)
        await send({**EVENT_STREAM, "trailers": True})
        await send(body(ATTRIBUTED))
        await send(END)
        await send(trailers)

    exchange = await Exchange().run(behind(app, visibility))
    assert exchange.sent[0] is debug
    assert exchange.sent[1] is hints
    assert exchange.sent[2]["trailers"]
    assert exchange.sent[-1] is trailers
    assert exchange.body == SEEN[visibility]


async def test_json_errors_files_and_their_extensions_pass(tmp_path: Any) -> None:
    (tmp_path / "x.txt").write_text("hello")
    for app in (JSONResponse({"detail": "no"}, 422), FileResponse(tmp_path / "x.txt")):
        plain, wrapped = await Exchange().run(app), await Exchange().run(behind(app))
        assert wrapped.sent == plain.sent
        assert wrapped.body


async def test_bodies_pass_with_the_same_objects_where_nothing_is_rewritten() -> None:
    bodies = [body(A), body(B), body(A)]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in [EVENT_STREAM, *bodies, END]:
            await send(message)

    exchange = await Exchange().run(behind(app, "auto"))
    assert [message for message in exchange.sent[2:4] if any(message is given for given in bodies)] == bodies[1:]


@EVERY_VISIBILITY
async def test_the_start_leaves_at_once(visibility: str) -> None:
    """The app says nothing more until the client has it."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        assert exchange.started
        await send(body(ATTRIBUTED))
        await send(END)

    exchange = Exchange()
    await exchange.run(behind(app, visibility))
    assert exchange.complete


@EVERY_VISIBILITY
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
async def test_a_body_may_be_anything_like_bytes(visibility: str, kind: Callable[[bytes], Any]) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send({"type": BODY, "body": kind(ATTRIBUTED), "more_body": True})
        await send({"type": BODY})

    assert (await Exchange().run(behind(app, visibility))).body == SEEN[visibility]


async def test_a_response_in_one_body_is_rewritten() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send({"type": BODY, "body": ATTRIBUTED})

    exchange = await Exchange().run(behind(app))
    assert (exchange.body, exchange.complete) == (INLINE, True)


async def test_a_last_event_without_its_blank_line_is_written_with_it() -> None:
    exchange = await Exchange().run(behind(sends(ATTRIBUTED[:-2])))
    assert (exchange.body, exchange.complete) == (INLINE, True)


# Headers.

DESCRIBING = [(name, b"x") for name in (b"ETag", b"content-md5", b"digest", b"accept-ranges")]


@EVERY_VISIBILITY
async def test_what_described_the_body_goes(visibility: str) -> None:
    fields = [*EVENT_STREAM["headers"], (b"Content-Length", b"%d" % len(ATTRIBUTED)), *DESCRIBING, (b"x-kept", b"1")]
    exchange = await Exchange().run(behind(sends(ATTRIBUTED, start=started(*fields)), visibility))
    expected = [*EVENT_STREAM["headers"], (b"x-kept", b"1"), (b"vary", b"x-ag-ui-client-version")]
    assert headers_of(exchange) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], [b"x-ag-ui-client-version"]),
        ([b"Origin"], [b"Origin", b"x-ag-ui-client-version"]),
        ([b"Origin", b"Accept-Encoding"], [b"Origin", b"Accept-Encoding", b"x-ag-ui-client-version"]),
        ([b"X-Ag-Ui-Client-Version, Origin"], [b"X-Ag-Ui-Client-Version, Origin"]),
        ([b"*"], [b"*"]),
    ],
)
async def test_vary_is_extended_by_the_header_names(given: list[bytes], expected: list[bytes]) -> None:
    start = started(*EVENT_STREAM["headers"], *((b"Vary", value) for value in given))
    exchange = await Exchange().run(behind(sends(ATTRIBUTED, start=start)))
    assert [value for name, value in headers_of(exchange) if name.lower() == b"vary"] == expected


async def test_vary_names_all_headers_that_are_asked_and_none_that_cannot_decide() -> None:
    async def vary(settings: Settings) -> list[bytes]:
        exchange = await Exchange().run(AGUIMiddleware(sends(ATTRIBUTED), settings))
        return [value for name, value in headers_of(exchange) if name == b"vary"]

    assert await vary(Settings(headers=["X-A", "x-b"])) == [b"x-a, x-b"]
    assert await vary(Settings(headers=[])) == []
    assert await vary(Settings(routes=[Route(path="/agent", client="0.0.58")])) == []


@pytest.mark.parametrize(
    ("version", "visibility", "said"),
    [
        (b"0.0.58", "auto", [b"client=0.0.58; subagents=inline"]),
        (b"0.0.58", "hidden", [b"client=0.0.58; subagents=hidden"]),
        (b"0.0.59", "auto", [b"client=0.0.59"]),
        (b"9.0.0", "auto", []),
        (b"9.0.0", "hidden", []),
    ],
)
async def test_a_developer_is_told_what_happened(version: bytes, visibility: str, said: list[bytes]) -> None:
    exchange = Exchange(headers=[(b"x-ag-ui-client-version", version)])
    await exchange.run(behind(sends(ATTRIBUTED), visibility))
    assert [value for name, value in headers_of(exchange) if name == b"x-ag-ui-downgrade"] == said


async def test_the_messages_of_the_app_are_not_edited() -> None:
    start = started(*EVENT_STREAM["headers"], (b"content-length", b"5"))
    before = {**start, "headers": list(start["headers"])}
    await Exchange().run(behind(sends(ATTRIBUTED, start=start)))
    assert start == before


# Content codings.


def compressed(coding: bytes = b"gzip") -> ASGIApp:
    start = started(*EVENT_STREAM["headers"], (b"Content-Encoding", coding), (b"content-length", b"5"))
    return sends(gzip.compress(ATTRIBUTED), start=start)


async def test_a_compressed_stream_passes_and_one_warning_says_what_to_change(caplog: pytest.LogCaptureFixture) -> None:
    app = behind(compressed())
    for _ in range(3):
        plain, wrapped = await Exchange().run(compressed()), await Exchange().run(app)
        # Unread or not, the header decides: behind a compression outside, the same request is answered by a rewritten body.
        plain.sent[0]["headers"] = [*plain.sent[0]["headers"], (b"vary", b"x-ag-ui-client-version")]
        plain.sent[0]["headers"][1] = (b"content-encoding", b"gzip")
        assert wrapped.sent == plain.sent
    assert caplog.messages == [
        "a stream compressed with gzip passes unread; put the compression outside AGUIMiddleware"
    ]


@pytest.mark.parametrize("coding", [b"gzip", b"BR", b"x-secret"])
async def test_a_compressed_stream_of_a_route_that_hides_becomes_a_500(
    coding: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Before anything has left; to the app it looks as if the client had gone."""
    exchange = await Exchange().run(behind(compressed(coding), "hidden"))
    assert exchange.sent[0]["status"] == 500
    assert (b"content-type", b"text/plain; charset=utf-8") in headers_of(exchange)
    text = exchange.body.decode()
    assert text == (
        f"Subagents are hidden on this route, and a response compressed with {coding.decode().lower()} cannot be read here; "
        "compress outside AGUIMiddleware.\n"
    )
    assert dict(headers_of(exchange))[b"content-length"] == b"%d" % len(exchange.body)
    assert exchange.complete
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


async def test_behind_a_refusal_the_app_can_start_nothing_else() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(started(*EVENT_STREAM["headers"], (b"content-encoding", b"gzip")))
        with pytest.raises(OSError, match="over"):
            await send(started((b"content-type", b"application/json")))
        with pytest.raises(OSError, match="over"):
            await send(body(b"SECRET"))

    exchange = await Exchange().run(behind(app, "hidden"))
    assert exchange.sent[0]["status"] == 500
    assert b"SECRET" not in exchange.body


async def test_the_binary_encoding_of_a_route_that_hides_becomes_a_500() -> None:
    start = started((b"content-type", b"application/vnd.ag-ui.event+proto"))
    exchange = await Exchange().run(behind(sends(b"\0\0\0\5SECRET", start=start), "hidden"))
    assert exchange.sent[0]["status"] == 500
    assert b"SECRET" not in exchange.body
    assert b"binary encoding" in exchange.body


@pytest.mark.parametrize("status", [201, 422, 500])
async def test_a_route_that_hides_reads_event_streams_of_any_status(status: int) -> None:
    start = started(*EVENT_STREAM["headers"], status=status)
    exchange = await Exchange().run(behind(sends(ATTRIBUTED, start=start), "hidden"))
    assert (exchange.sent[0]["status"], exchange.body) == (status, HIDDEN)


async def test_a_stream_coded_as_identity_is_read() -> None:
    assert (await Exchange().run(behind(compressed_identity()))).body == INLINE


def compressed_identity() -> ASGIApp:
    return sends(ATTRIBUTED, start=started(*EVENT_STREAM["headers"], (b"content-encoding", b"identity")))


async def test_a_file_in_an_event_stream_passes_or_is_refused_where_it_hides() -> None:
    path: Message = {"type": "http.response.pathsend", "path": "/tmp/x"}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(path)

    exchange = await Exchange().run(behind(app))
    assert exchange.sent[-1] is path
    exchange = await Exchange().run(behind(app, "hidden"))
    assert path not in exchange.sent
    assert exchange.complete


# Streaming, proved by interlock: the app goes on when the client has what it sent.


@EVERY_VISIBILITY
def test_every_event_arrives_before_the_app_sends_the_next(run: Run, visibility: str) -> None:
    async def scenario() -> None:
        exchange = Exchange()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(EVENT_STREAM)
            for count, part in enumerate((A, B, A), 1):
                await send(body(part))
                with anyio.fail_after(5):
                    await exchange.events_sent(count)
            await send(END)

        await exchange.run(behind(app, visibility))
        assert exchange.body == A + B + A

    run(scenario)


@EVERY_VISIBILITY
def test_comments_arrive_at_once_also_while_a_filter_holds_all_back(run: Run, visibility: str) -> None:
    async def scenario() -> None:
        exchange = Exchange()

        async def holds(events: Events, _: Context) -> Events:
            for event in [event async for event in events]:
                yield event

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(EVENT_STREAM)
            await send(body(A))
            await send(body(b": ping\n\n"))
            with anyio.fail_after(5):
                await exchange.until(lambda exchange: b": ping" in exchange.body or exchange.body == b":\n\n")
            assert exchange.events == []
            await send(END)

        await exchange.run(behind(app, visibility, holds))
        assert exchange.types == ["A"]

    run(scenario)


def test_backpressure_reaches_the_app(run: Run) -> None:
    async def scenario() -> None:
        log: list[str] = []
        room = anyio.Event()

        async def slow_send(message: Message) -> None:
            if message.get("body"):
                log.append("full")
                await room.wait()
                log.append("room")

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(EVENT_STREAM)
            await send(body(A))
            log.append("app goes on")

        async def make_room() -> None:
            await anyio.wait_all_tasks_blocked()
            assert log == ["full"]
            room.set()

        async with anyio.create_task_group() as group:
            group.start_soon(make_room)
            exchange = Exchange()
            await behind(app)(exchange.scope, exchange.receive, slow_send)
        assert log == ["full", "room", "app goes on"]

    run(scenario)


def test_the_end_leaves_before_background_tasks_run(run: Run) -> None:
    async def scenario() -> None:
        exchange = Exchange()

        async def background() -> None:
            assert exchange.complete

        app = StreamingResponse(iter([ATTRIBUTED]), media_type="text/event-stream", background=background)  # type: ignore[arg-type]  # callable all the same
        await exchange.run(behind(app))
        assert exchange.body == INLINE

    run(scenario)


# Failure.


async def fails_on_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "B":
            raise ZeroDivisionError("SECRET")
        yield event


async def test_a_filter_that_raises_ends_the_response_and_is_raised_when_the_app_is_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(body(A))
        try:
            await send(body(B))
        except OSError:
            log.append("disconnected")
        log.append((await receive())["type"])
        with pytest.raises(OSError, match="over"):
            await send(body(A))
        log.append("done")

    exchange = Exchange()
    with pytest.raises(ZeroDivisionError):
        await exchange.run(behind(app, "inline", fails_on_b))
    assert log == ["disconnected", "http.disconnect", "done"]
    assert exchange.types == ["A", "RUN_ERROR"]
    assert exchange.events[1]["code"] == "AGUI_FILTER_ERROR"
    assert b"SECRET" not in exchange.body
    assert exchange.complete
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None


async def test_an_app_that_minds_the_disconnect_is_not_blamed_for_it() -> None:
    """Frameworks wrap it in errors of their own; the filter's error is the one that is raised."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        try:
            await send(body(B))
        except OSError:
            raise RuntimeError("the client has left") from None

    with pytest.raises(ZeroDivisionError):
        await Exchange().run(behind(app, "inline", fails_on_b))


async def test_an_error_of_the_apps_own_is_raised_as_it_is() -> None:
    error = KeyError("of its own")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(body(A))
        raise error

    exchange = Exchange()
    with pytest.raises(KeyError) as raised:
        await exchange.run(behind(app))
    assert raised.value is error
    assert exchange.body == A
    assert not exchange.complete


@pytest.mark.parametrize(
    ("stream_", "code"),
    [(b'data: {"type"\n\n', "AGUI_MALFORMED_EVENT"), (b"data: " + b"x" * 200, "AGUI_EVENT_TOO_LARGE")],
)
async def test_what_the_agent_wrote_wrong_ends_the_response_and_raises_nothing(
    stream_: bytes, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    exchange = await Exchange().run(behind(sends(A, stream_, B), "hidden", max_event_bytes=100))
    assert [event.get("code") for event in exchange.events] == [None, code]
    assert exchange.complete
    assert caplog.records[-1].levelno == logging.ERROR
    assert caplog.records[-1].exc_info is None


async def test_a_filter_that_returns_ends_the_response(caplog: pytest.LogCaptureFixture) -> None:
    async def returns(events: Events, _: Context) -> Events:
        async for event in events:
            yield event
            return

    caplog.set_level(logging.INFO)
    exchange = await Exchange().run(behind(sends(A, B), "inline", returns))
    assert (exchange.body, exchange.complete) == (A, True)
    assert caplog.messages == ["a filter returned before the stream had ended"]


async def test_a_declared_filter_that_returns_without_a_word_ends_the_response() -> None:
    @handles("B")
    async def returns(events: Events, _: Context) -> Events:
        async for event in events:
            if event.type == "B":
                return
            yield event

    exchange = await Exchange().run(behind(sends(A, B, A), "inline", returns))
    assert (exchange.body, exchange.complete) == (A, True)
    in_one_body = await Exchange().run(behind(sends_whole(A + B + A), "inline", returns))
    assert (in_one_body.body, in_one_body.complete) == (A, True)


def sends_whole(stream_: bytes) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send({"type": BODY, "body": stream_})

    return app


async def test_an_error_of_the_server_reaches_the_app() -> None:
    seen: list[BaseException] = []

    def leave(message: Message) -> None:
        if message["type"] == BODY:
            raise OSError("gone")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        try:
            await send(body(A))
        except OSError as error:
            seen.append(error)
            raise

    with pytest.raises(OSError, match="gone") as raised:
        await Exchange(on_send=leave).run(behind(app))
    assert seen == [raised.value]


async def test_an_app_that_just_returns_has_what_it_sent_written_and_no_end_invented() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(body(ATTRIBUTED[:-2]))

    exchange = await Exchange().run(behind(app))
    assert (exchange.body, exchange.complete) == (INLINE, False)


async def test_an_app_that_sends_nothing_sends_nothing() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        exchange.disconnect()
        await receive()
        assert (await receive())["type"] == "http.disconnect"

    for visibility in SEEN:
        exchange = Exchange()
        await exchange.run(behind(app, visibility))
        assert exchange.sent == []


# Cancellation and concurrency.


def test_a_cancelled_request_unwinds_every_filter_before_it_returns(run: Run) -> None:
    async def scenario() -> None:
        log: list[str] = []

        def unwound(name: str) -> Filter:
            async def filter(events: Events, _: Context) -> Events:
                try:
                    async for event in events:
                        yield event
                        if event.type == "B":
                            waits.set()
                            await anyio.sleep_forever()
                finally:
                    log.append(name)

            return filter

        waits = anyio.Event()
        exchange = Exchange()

        async def request() -> None:
            try:
                await exchange.run(behind(sends(A, B), "inline", unwound("first"), unwound("second")))
            finally:
                log.append("returned")

        async with anyio.create_task_group() as group:
            group.start_soon(request)
            await waits.wait()
            group.cancel_scope.cancel()
        assert sorted(log[:2]) == ["first", "second"]
        assert log[2:] == ["returned"]
        assert exchange.types == ["A", "B"]

    run(scenario)


def test_two_tasks_of_one_response_send_in_turn(run: Run) -> None:
    """A ping waits until the event that is at work has left."""

    async def scenario() -> None:
        at_work, go_on = anyio.Event(), anyio.Event()

        async def waits(events: Events, _: Context) -> Events:
            async for event in events:
                if event.type == "B":
                    at_work.set()
                    await go_on.wait()
                yield event

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            async def ping() -> None:
                await at_work.wait()
                go_on.set()
                await send(body(b": ping\n\n"))

            await send(EVENT_STREAM)
            async with anyio.create_task_group() as group:
                group.start_soon(ping)
                await send(body(A + B[:5]))
                await send(body(B[5:] + A))
            await send(END)

        exchange = await Exchange().run(behind(app, "inline", waits))
        assert exchange.body == A + B + A + b": ping\n\n"

    run(scenario)


async def test_an_app_may_leave_the_end_to_a_task_of_its_own() -> None:
    """It is waited for, and nothing is ended twice."""
    go_on = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def waits(events: Events, _: Context) -> Events:
        async for event in events:
            await go_on.wait()
            yield event

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def finish() -> None:
            await send({"type": BODY, "body": A})

        await send(EVENT_STREAM)
        tasks.append(asyncio.create_task(finish()))
        await anyio.wait_all_tasks_blocked()
        asyncio.get_running_loop().call_soon(go_on.set)

    exchange = await Exchange().run(behind(app, "inline", waits))
    await tasks[0]
    assert (exchange.body, exchange.complete) == (A, True)


async def test_a_task_that_outlives_a_cancelled_request_unwinds_the_filters_when_it_is_done() -> None:
    log: list[str] = []
    go_on = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def waits(events: Events, _: Context) -> Events:
        try:
            async for event in events:
                await go_on.wait()
                yield event
        finally:
            log.append("unwound")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        tasks.append(asyncio.create_task(send(body(A))))  # type: ignore[arg-type]  # a coroutine, where something waits
        await anyio.wait_all_tasks_blocked()

    request = asyncio.create_task(Exchange().run(behind(app, "inline", waits)))
    for _ in range(2):  # the first time it unwinds what is its own, and waits for the task
        await anyio.wait_all_tasks_blocked()
        request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert log == []
    go_on.set()
    await tasks[0]
    assert log == ["unwound"]


def test_streams_of_one_middleware_do_not_share_anything(run: Run) -> None:
    async def scenario() -> None:
        async def numbers(events: Events, _: Context) -> Events:
            count = 0
            async for event in events:
                count += 1
                await anyio.lowlevel.checkpoint()
                yield event.replace(count=count)

        app = behind(sends(*[A] * 20), "hidden", numbers)
        exchanges = [Exchange() for _ in range(50)]
        async with anyio.create_task_group() as group:
            for exchange in exchanges:
                group.start_soon(exchange.run, app)
        assert all([event["count"] for event in exchange.events] == list(range(1, 21)) for exchange in exchanges)

    run(scenario)


async def test_a_start_waits_for_one_that_is_being_sent() -> None:
    sent: list[Message] = []
    first_has_left = anyio.Event()

    async def send(message: Message) -> None:
        sent.append(message)
        if len(sent) == 1:
            await first_has_left.wait()

    async def app(_: Scope, __: Receive, send: Send) -> None:
        async def start() -> None:
            await send(EVENT_STREAM)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(start)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(start)
            await anyio.wait_all_tasks_blocked()
            assert len(sent) == 1
            first_has_left.set()

    exchange = Exchange()
    await behind(app)(exchange.scope, exchange.receive, send)
    assert [message["type"] for message in sent] == [START, START]  # the second is the server's to refuse
