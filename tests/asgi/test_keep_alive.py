"""Comments in silent responses. Time is the test's: `Clock.advance` moves it, and returns once every task waits again."""

import asyncio
import gc
import logging
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from pydantic import ValidationError
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from agui_middleware.asgi.keep_alive import COMMENT
from agui_middleware.asgi.ticker import Ticker
from agui_middleware.config.planning import make_plan
from agui_middleware.config.routes import Route as ConfiguredRoute
from agui_middleware.testing import encode_events
from tests.conftest import Run
from tests.notation import stream
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body, sends
from tests.robustness.leaks import on_every_loop

FIRST, *REST = [encode_events([event]) for event in stream("RS r; TS m; TC m x; TE m; RF r")]
OF_A_SUBAGENT = encode_events(stream("TS n @s; TC n y @s; TE n @s"))


async def settle() -> None:
    """Let every task run until it waits. `anyio.wait_all_tasks_blocked` does so too, in tenths of real seconds."""
    for _ in range(50):
        await checkpoint()


def times_cancelled() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


def _ticker(alarm: Callable[[], None]) -> Ticker:
    owner = getattr(alarm, "__self__", None)
    assert isinstance(owner, Ticker)
    return owner


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, anyio.Event]] = []
        self._alarms: list[tuple[float, Callable[[], None]]] = []

    @property
    def sleepers(self) -> list[object]:
        """Whoever waits, but for a ticker whose responses are over: its next tick is the last."""
        return [*self._sleepers, *(alarm for alarm in self._alarms if _ticker(alarm[1]).responses)]

    async def sleep(self, seconds: float) -> None:
        sleeper = self.now + seconds, anyio.Event()
        self._sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self._sleepers.remove(sleeper)

    def call_later(self, _: object, seconds: float, callback: Callable[[], None]) -> None:
        self._alarms.append((self.now + seconds, callback))

    async def advance(self, seconds: float) -> None:
        end = self.now + seconds
        await settle()
        while due := [waiting[0] for waiting in (*self._sleepers, *self._alarms) if waiting[0] <= end]:
            self.now = min(due)
            for moment, event in self._sleepers:
                if moment == self.now:
                    event.set()
            rung = [callback for moment, callback in self._alarms if moment == self.now]
            self._alarms = [alarm for alarm in self._alarms if alarm[0] != self.now]
            for callback in rung:
                callback()
            await settle()
        self.now = end


class Silence:
    """An app that sends what the test puts in, and the exchange and the clock that go with it."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        on_send: Callable[[Message], Any] | None = None,
        **fields: Any,
    ) -> None:
        self.clock = Clock()
        self.exchange = Exchange(on_send=on_send)
        self.out, self._in = anyio.create_memory_object_stream[Message](100)
        settings = Settings(routes=[Route(path="/agent", **fields)]) if settings is None else settings
        self.middleware = keeping(self._app, self.clock, settings)
        self.failure: BaseException | None = None

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._in:
            async for message in self._in:
                await send(message)

    async def __aenter__(self) -> "Silence":
        self._group = anyio.create_task_group()
        await self._group.__aenter__()
        self._group.start_soon(self._run)
        return self

    async def _run(self) -> None:
        try:
            await self.exchange.run(self.middleware)
        except Exception as error:
            self.failure = error

    async def __aexit__(self, *raised: Any) -> None:
        self.out.close()
        await self._group.__aexit__(*raised)
        assert not self.clock.sleepers  # nobody waits for a response that is over

    async def send(self, *messages: Message | bytes) -> None:
        for message in messages:
            self.out.send_nowait(body(message) if isinstance(message, bytes) else message)
        await settle()

    def comments(self) -> int:
        return self.exchange.body.count(COMMENT)

    def failed_with(self) -> BaseException | None:
        return self.failure


def keeping(app: ASGIApp, clock: Clock, settings: Settings) -> AGUIMiddleware:
    middleware = AGUIMiddleware(app, settings)
    middleware._streams.timers.sleep = clock.sleep
    middleware._streams.timers.call_later = clock.call_later
    return middleware


# When.


@on_every_loop
async def test_a_silent_response_gets_a_comment_every_fifteen_seconds() -> None:
    async with Silence() as response:
        await response.send(EVENT_STREAM)
        for comments in range(4):
            assert response.exchange.body == COMMENT * comments
            await response.clock.advance(14.9)
            assert response.exchange.body == COMMENT * comments
            await response.clock.advance(0.1)
        await response.send(FIRST, END)
        assert response.exchange.body == COMMENT * 4 + FIRST


@on_every_loop
async def test_a_comment_comes_between_so_many_seconds_after_the_last_byte_and_a_quarter_more() -> None:
    async with Silence(keep_alive=8) as response:
        await response.send(EVENT_STREAM)
        for _ in range(8):
            await response.clock.advance(7.9)
            await response.send(FIRST)
        assert not response.comments()
        await response.clock.advance(7.9)
        assert not response.comments()
        await response.clock.advance(2.1)
        assert response.comments() == 1


@on_every_loop
async def test_events_that_the_client_does_not_get_are_silence() -> None:
    async with Silence(visibility="hidden", keep_alive=4) as response:
        await response.send(EVENT_STREAM, FIRST)
        for _ in range(20):
            await response.send(OF_A_SUBAGENT)
            await response.clock.advance(1)
        assert response.exchange.body == FIRST + COMMENT * 4
        assert response.exchange.types == ["RUN_STARTED"]


@on_every_loop
async def test_rewritten_events_are_bytes_too() -> None:
    async with Silence(visibility="inline", keep_alive=4) as response:
        await response.send(EVENT_STREAM, FIRST)
        for _ in range(20):
            await response.send(OF_A_SUBAGENT)
            await response.clock.advance(1)
        assert not response.comments()


@on_every_loop
async def test_a_comment_never_comes_before_the_start_or_after_the_end() -> None:
    async with Silence() as response:
        await response.clock.advance(100)
        assert not response.clock.sleepers
        await response.send(EVENT_STREAM, FIRST)
        await response.clock.advance(19)
        await response.send(END)
        await response.clock.advance(100)  # the app has work left to do
        assert response.exchange.body == FIRST + COMMENT
        assert response.exchange.complete


@on_every_loop
async def test_a_comment_never_comes_within_a_frame() -> None:
    half = len(FIRST) // 2
    async with Silence() as response:
        await response.send(EVENT_STREAM, FIRST[:half])
        await response.clock.advance(15)
        await response.send(FIRST[half:], REST[0][:7])
        await response.clock.advance(19)
        await response.send(REST[0][7:], END)
        assert response.exchange.body == COMMENT + FIRST + COMMENT + REST[0]


# For whom.


@on_every_loop
@pytest.mark.parametrize(
    ("route", "settings", "seconds"), [(None, 3, 3), (5, 3, 5), (0, 3, 0), (2.5, 0, 2.5), (None, 0, 0)]
)
async def test_a_route_decides_before_the_settings(route: float | None, settings: float, seconds: float) -> None:
    configured = Settings(routes=[Route(path="/agent", keep_alive=route)], keep_alive=settings)
    async with Silence(configured) as response:
        await response.send(EVENT_STREAM, FIRST)
        await response.clock.advance(100)
        assert (response.comments() > 0) == (seconds > 0)
        if seconds:
            assert 100 / seconds - 2 <= response.comments() <= 100 / seconds


@pytest.mark.parametrize("seconds", [-1, "soon", float("inf"), float("nan")])
@pytest.mark.parametrize("model", [Settings, ConfiguredRoute])
def test_seconds_that_nobody_can_wait_for_are_refused(model: type, seconds: Any) -> None:
    with pytest.raises(ValidationError, match="keep_alive"):
        model(keep_alive=seconds)


@on_every_loop
async def test_a_response_that_passes_unread_has_no_task() -> None:
    clock = Clock()
    for app, path in ((JSONResponse({}), "/agent"), (sends(FIRST), "/elsewhere")):

        async def watched(scope: Scope, receive: Receive, send: Send, app: ASGIApp = app) -> None:
            await app(scope, receive, send)
            await settle()
            assert not clock.sleepers

        await Exchange(path).run(keeping(watched, clock, Settings(routes=[Route(path="/agent")])))


@on_every_loop
async def test_without_routes_an_ag_ui_stream_is_kept_alive_from_its_first_event_on() -> None:
    async with Silence(Settings()) as response:
        await response.send(EVENT_STREAM)
        await response.clock.advance(40)
        assert not response.comments()  # it may be anybody's
        await response.send(FIRST)
        await response.clock.advance(20)
        assert response.exchange.body == FIRST + COMMENT


@on_every_loop
async def test_a_stream_that_is_not_ag_ui_is_left_alone() -> None:
    async with Silence(Settings()) as response:
        await response.send(EVENT_STREAM, b'data: {"jsonrpc":"2.0"}\n\ndata: ha')
        await response.clock.advance(100)
        await response.send(b"lf\n\n", END)
        assert response.exchange.body == b'data: {"jsonrpc":"2.0"}\n\ndata: half\n\n'


@on_every_loop
async def test_a_reader_that_fails_at_comments_gets_none() -> None:
    async with Silence() as response:
        plan = make_plan(None)._replace(reads_comments=False)
        response.middleware._streams.choose = lambda *_: plan  # type: ignore[method-assign]  # no SDK is needed for it
        await response.send(EVENT_STREAM, FIRST)
        await response.clock.advance(100)
        assert response.exchange.body == FIRST


@on_every_loop
async def test_a_response_of_another_route_than_the_path_says_is_sent_where_the_first_has_no_comments() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["path_template"] = "/private/{name}"
        await sends(FIRST, *REST)(scope, receive, send)

    routes = [Route(path="/public/{name}", keep_alive=0), Route(path="/private/{name}", visibility="hidden")]
    exchange = await Exchange("/public/x").run(keeping(app, Clock(), Settings(routes=routes)))
    assert exchange.body == FIRST + b"".join(REST)


# What the app sees.


class Unusual(BaseException):
    pass


@on_every_loop
@pytest.mark.parametrize("error", [ValueError("x"), ExceptionGroup("g", [ValueError("y")]), Unusual("z")])
@pytest.mark.parametrize("sent", [0, 1, 2])
async def test_an_exception_of_the_app_is_raised_as_it_is(error: BaseException, sent: int) -> None:
    clock = Clock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in (EVENT_STREAM, body(FIRST))[:sent]:
            await send(message)
        await checkpoint()
        raise error

    with pytest.raises(type(error)) as raised:
        await Exchange().run(keeping(app, clock, Settings(routes=[Route(path="/agent")])))
    assert raised.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not clock.sleepers


def test_an_exception_leaves_no_circle_for_the_garbage_collector(run: Run) -> None:
    class Held:
        pass

    async def scenario() -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            held = Held()
            references.append(weakref.ref(held))
            await send(EVENT_STREAM)
            raise ValueError

        references: list[weakref.ref[Held]] = []
        await anyio.lowlevel.checkpoint()
        gc.collect()
        gc.disable()
        try:
            with suppress(ValueError):
                await Exchange().run(keeping(app, Clock(), Settings(routes=[Route(path="/agent")])))
            assert references[0]() is None
        finally:
            gc.enable()

    run(scenario)


@on_every_loop
async def test_cancellation_ends_the_app_where_it_waits_and_nothing_else() -> None:
    seen: list[str] = []
    clock = Clock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            seen.append("cancelled")
            raise
        finally:
            seen.append("unwound")

    async with anyio.create_task_group() as group:
        group.start_soon(Exchange().run, keeping(app, clock, Settings(routes=[Route(path="/agent")])))
        await clock.advance(20)
        assert clock.sleepers
        group.cancel_scope.cancel()
    assert seen == ["cancelled", "unwound"]
    assert not clock.sleepers


@on_every_loop
async def test_what_an_app_raises_when_it_is_cancelled_is_raised() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("while unwinding")

    with anyio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(ValueError, match="while unwinding"):
            await Exchange().run(keeping(app, Clock(), Settings(routes=[Route(path="/agent")])))


@pytest.mark.parametrize("wrapped", [False, True])
async def test_asyncio_cancels_and_times_out_as_on_the_bare_app(wrapped: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(body(FIRST))
        with suppress(TimeoutError):
            async with asyncio.timeout(0):  # of the app's own
                await asyncio.sleep(3600)
        await asyncio.sleep(3600)

    async def serve() -> None:
        clock = Clock()
        served = keeping(app, clock, Settings(routes=[Route(path="/agent")])) if wrapped else app
        try:
            await Exchange().run(served)
        finally:
            cancelling.append(times_cancelled())
            assert not clock.sleepers

    cancelling: list[int] = []
    task = asyncio.create_task(serve())
    await settle()
    task.cancel("the server stops")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert cancelling == [1]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await serve()
    assert cancelling == [1, 1]
    assert times_cancelled() == 0


@on_every_loop
async def test_the_app_runs_in_the_servers_own_task() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        ran_in.append(anyio.get_current_task().id)
        await send(EVENT_STREAM)

    ran_in: list[int] = []
    await Exchange().run(keeping(app, Clock(), Settings(routes=[Route(path="/agent")])))
    assert ran_in == [anyio.get_current_task().id]


@on_every_loop
async def test_a_task_that_the_app_left_behind_starts_nothing() -> None:
    clock = Clock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        behind.append(send)

    behind: list[Send] = []
    exchange = await Exchange().run(keeping(app, clock, Settings(routes=[Route(path="/agent")])))
    await behind[0](EVENT_STREAM)
    await clock.advance(100)
    assert exchange.body == b""
    assert not clock.sleepers


# Clients that leave, and servers that do not take everything at once.


@on_every_loop
async def test_a_client_that_leaves_while_a_comment_is_due() -> None:
    def leave(message: Message) -> None:
        if message.get("body") in (COMMENT, REST[0]):
            raise OSError("the client has disconnected")

    async with Silence(on_send=leave) as response:
        await response.send(EVENT_STREAM, FIRST)
        await response.clock.advance(20)
        assert response.failed_with() is None  # the app has done nothing
        assert not response.clock.sleepers  # no other comment can follow
        await response.send(REST[0])
        assert isinstance(response.failed_with(), OSError)
    assert response.exchange.body == FIRST


@on_every_loop
async def test_an_app_that_knows_that_its_client_left_has_no_more_comments_written() -> None:
    clock, go_on = Clock(), anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        while (await receive())["type"] != "http.disconnect":
            pass
        await go_on.wait()

    exchange = Exchange()
    async with anyio.create_task_group() as group:
        group.start_soon(exchange.run, keeping(app, clock, Settings(routes=[Route(path="/agent")])))
        await clock.advance(15)
        exchange.disconnect()
        await clock.advance(100)
        assert not clock.sleepers
        go_on.set()
    assert exchange.body == COMMENT


@on_every_loop
async def test_a_comment_that_the_server_refuses_costs_the_response_nothing() -> None:
    def refuse(message: Message) -> None:
        if message.get("body") == COMMENT:
            raise RuntimeError("a fault of the server")

    class Recording(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    records: list[logging.LogRecord] = []
    handler = Recording()
    logger = logging.getLogger("agui_middleware")
    logger.addHandler(handler)
    try:
        async with Silence(on_send=refuse) as response:
            await response.send(EVENT_STREAM)
            await response.clock.advance(100)
            await response.send(FIRST, *REST, END)
    finally:
        logger.removeHandler(handler)
    assert response.failure is None
    assert response.exchange.body == b"".join([FIRST, *REST])
    assert [record.getMessage() for record in records] == [
        "a keep-alive comment could not be sent; no more are sent in this response"
    ]


class Gate:
    """A server whose `send` blocks for one kind of body until it is opened."""

    def __init__(self, app: ASGIApp, exchange: Exchange, blocks: bytes) -> None:
        self.app, self.exchange, self.blocks = app, exchange, blocks
        self.opened, self.tried = anyio.Event(), 0

    async def run(self) -> None:
        await self.app(self.exchange.scope, self.exchange.receive, self.send)

    async def send(self, message: Message) -> None:
        if message.get("body") == self.blocks:
            self.tried += 1
            await self.opened.wait()
        await self.exchange.send(message)


def gated(blocks: bytes, app: ASGIApp, clock: Clock, **fields: Any) -> Gate:
    return Gate(keeping(app, clock, Settings(routes=[Route(path="/agent", **fields)])), Exchange(), blocks)


async def _passing(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        await checkpoint()
        yield event


@on_every_loop
@pytest.mark.parametrize("fields", [{}, {"filters": [_passing]}, {"client": "0.0.36"}])
async def test_the_end_waits_for_a_comment_that_is_being_sent(fields: dict[str, Any]) -> None:
    clock, end = Clock(), anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await end.wait()
        for part in (FIRST, *REST):
            await send(body(part))
        await send(END)

    gate = gated(COMMENT, app, clock, **fields)
    async with anyio.create_task_group() as group:
        group.start_soon(gate.run)
        await clock.advance(15)
        end.set()
        await clock.advance(200)  # nor is there another comment meanwhile
        assert gate.tried == 1
        assert not gate.exchange.body
        gate.opened.set()
    assert gate.exchange.body.startswith(COMMENT + FIRST)
    assert gate.exchange.body.count(COMMENT) == 1
    assert gate.exchange.types[-1] == "RUN_FINISHED"
    assert gate.exchange.complete


@on_every_loop
@pytest.mark.parametrize("filters", [[], [_passing]])
async def test_a_client_that_does_not_read_is_sent_one_comment_at_most(filters: list[Any]) -> None:
    clock = Clock()
    gate = gated(FIRST, sends(FIRST, *REST), clock, filters=filters)
    async with anyio.create_task_group() as group:
        group.start_soon(gate.run)
        await clock.advance(1000)
        held = gate.exchange.body.count(COMMENT)
        gate.opened.set()
    # Behind a filter that awaits, the middleware knows that the event is on its way.
    assert held == 0 if filters else held < 1000 / 15
    assert gate.exchange.body.replace(COMMENT, b"") == b"".join([FIRST, *REST])


@on_every_loop
async def test_a_comment_that_is_being_sent_when_the_app_raises_is_given_up() -> None:
    clock, fall = Clock(), anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await fall.wait()
        raise ValueError("x")

    gate = gated(COMMENT, app, clock)
    async with anyio.create_task_group() as group:

        async def fail_in_a_while() -> None:
            await clock.advance(15)
            assert gate.tried == 1
            fall.set()

        group.start_soon(fail_in_a_while)
        with pytest.raises(ValueError, match="x"):
            await gate.run()
    assert gate.exchange.body == b""


# Filters that await, and apps with several tasks.


@on_every_loop
async def test_comments_are_written_while_a_filter_awaits() -> None:
    asked, answered, clock = anyio.Event(), anyio.Event(), Clock()

    async def asking(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if event.type == "TEXT_MESSAGE_CONTENT":
                asked.set()
                await answered.wait()
            yield event

    route = Route(path="/agent", filters=[asking])
    exchange = Exchange()
    async with anyio.create_task_group() as group:
        group.start_soon(exchange.run, keeping(sends(FIRST, *REST), clock, Settings(routes=[route])))
        await asked.wait()
        await clock.advance(50)
        answered.set()
    assert exchange.body == FIRST + REST[0] + COMMENT * 3 + b"".join(REST[1:])
    assert exchange.complete


@on_every_loop
@pytest.mark.parametrize("filters", [[], [_passing]])
async def test_an_app_that_sends_from_two_tasks(filters: list[Any]) -> None:
    clock = Clock()
    count = 40

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def speak(name: str, seconds: float) -> None:
            for number in range(count):
                await clock.sleep(seconds)
                await send(body(encode_events([{"type": "CUSTOM", "name": name, "value": number}])))

        await send(EVENT_STREAM)
        await send(body(FIRST))
        async with anyio.create_task_group() as group:
            group.start_soon(speak, "a", 1.0)
            group.start_soon(speak, "b", 7.0)
        await send(END)

    exchange = Exchange()
    route = Route(path="/agent", filters=filters, keep_alive=2)
    async with anyio.create_task_group() as group:
        group.start_soon(exchange.run, keeping(app, clock, Settings(routes=[route])))
        await clock.advance(7 * count + 1)
    events = exchange.events[1:]
    for name in "ab":
        assert [event["value"] for event in events if event["name"] == name] == list(range(count))
    assert exchange.body.count(COMMENT) == exchange.body.count(b"\n\n") - len(events) - 1
    assert exchange.body.count(COMMENT) > count
    assert exchange.complete


@on_every_loop
async def test_a_response_that_a_filter_ended_gets_no_comments() -> None:
    async def failing(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            yield event
            raise ValueError("a filter")

    async with Silence(filters=[failing]) as response:
        await response.send(EVENT_STREAM, FIRST)
        await response.clock.advance(100)
        assert response.exchange.types == ["RUN_STARTED", "RUN_ERROR"]
        assert not response.comments()
        assert not response.clock.sleepers
