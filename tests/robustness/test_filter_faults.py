"""Faults of filters: each has one result, for the client, for the app and for the server."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Event, Route, Settings
from tests.clients.client import Client
from tests.robustness import filters
from tests.robustness.agents import FRAMES, INLINE, RUN
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body, frame
from tests.robustness.filters import FilterError
from tests.robustness.leaks import on_every_loop, run_clean

WHOLE = [event["type"] for event in INLINE]
ERROR = ["RUN_ERROR"]


@dataclass(frozen=True)
class Result:
    """What becomes of a response: the types the client gets, what the server is raised, and whether the app is told."""

    client: list[str]
    server: type[Exception] | None = None
    app_sees_a_disconnect: bool = True


FAILS_AT_ONCE = Result(ERROR, FilterError)
FAILS_LAST = Result(WHOLE[:-1] + ERROR, TypeError, app_sees_a_disconnect=True)
NOT_A_FILTER = Result(ERROR, TypeError)
UNHARMED = Result(WHOLE, app_sees_a_disconnect=False)

CASES: dict[str, tuple[Any, Result]] = {
    "raises before its first event": (filters.raises_before_its_first_event, FAILS_AT_ONCE),
    "raises on the first": (filters.raises_on_the_first, FAILS_AT_ONCE),
    "raises on the ninth": (filters.raises_on_the_ninth, Result([*WHOLE[:6], *ERROR], FilterError)),
    "raises on the last": (filters.raises_on_the_last, Result(WHOLE[:-1] + ERROR, FilterError)),
    "raises in finally": (filters.raises_in_finally, Result(WHOLE + ERROR, FilterError, app_sees_a_disconnect=False)),
    "raises StopIteration": (filters.raises_stop_iteration, Result(WHOLE[:-1] + ERROR, RuntimeError)),
    "raises StopAsyncIteration": (filters.raises_stop_async_iteration, Result(WHOLE[:-1] + ERROR, RuntimeError)),
    "holds back until its source ends": (filters.holds_back_until_its_source_ends, UNHARMED),
    "reads on behind the end": (filters.reads_on_behind_the_end, UNHARMED),
    "stops early": (filters.stops_early, Result(WHOLE[:4])),
    "never yields": (filters.never_yields, Result([], app_sees_a_disconnect=False)),
    "yields a mapping": (filters.yields_a_mapping, UNHARMED),
    "yields a model": (filters.yields_a_model, Result(["RUN_STARTED", "CUSTOM", *WHOLE[1:]], None, False)),
    "yields None": (filters.yields(None), FAILS_LAST),
    "yields a number": (filters.yields(7), FAILS_LAST),
    "yields text": (filters.yields('{"type":"RUN_FINISHED"}'), FAILS_LAST),
    "yields bytes": (filters.yields(frame(RUN[-1])), FAILS_LAST),
    "yields a list": (filters.yields([RUN[-1]]), FAILS_LAST),
    "yields a mapping without type": (filters.yields({"threadId": "t"}), FAILS_LAST),
    "yields a mapping with a type that is no string": (filters.yields({"type": 1}), FAILS_LAST),
    "yields a mapping with a key that is no string": (filters.yields({"type": "CUSTOM", 1: 2}), FAILS_LAST),
    "yields what is no JSON": (filters.yields({"type": "CUSTOM", "name": "x", "value": object()}), FAILS_LAST),
    "yields an event that is no JSON": (filters.yields(Event(type="CUSTOM", name="x", value=object())), FAILS_LAST),
    "yields in finally": (filters.yields_in_finally, Result([*WHOLE, "CUSTOM"], None, False)),
    "mutates": (filters.mutates, UNHARMED),
    "catches GeneratorExit": (filters.catches_generator_exit, UNHARMED),
    "gives a coroutine": (lambda *told: filters.is_a_coroutine(*told), NOT_A_FILTER),
    "gives a plain generator": (lambda *told: filters.is_a_plain_generator(*told), NOT_A_FILTER),
    "returns nothing": (filters.returns_nothing, NOT_A_FILTER),
    "raises when called": (filters.raises_when_called, FAILS_AT_ONCE),
}


class App:
    """Sends `FRAMES` and notes whether it was told that the client had left."""

    told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        try:
            for part in FRAMES:
                await send(body(part))
            await send(END)
        except OSError:
            self.told = True
            raise


async def serve(filter: Any, client: str | None = None, **settings: Any) -> tuple[Exchange, App, Exception | None]:
    release = None if client is None else ClientVersion.parse(client)
    route = Route(path="/agent", visibility="inline", filters=[filter], client=release)
    exchange, app = Exchange(), App()
    raised: Exception | None = None
    try:
        await exchange.run(AGUIMiddleware(app, Settings(routes=[route], **settings)))
    except Exception as error:
        raised = error.with_traceback(None)  # whose frames would keep alive what was left behind
    return exchange, app, raised


@pytest.mark.parametrize(("filter", "result"), CASES.values(), ids=CASES)
@on_every_loop
async def test_a_faulty_filter_has_one_result(filter: Any, result: Result) -> None:
    exchange, app, raised = await serve(filter)
    assert exchange.types == result.client
    assert exchange.complete
    assert type(raised) is (result.server or type(None))
    assert app.told == result.app_sees_a_disconnect
    assert b"SECRET" not in exchange.body.replace(b"SECRET north", b"").replace(b"SECRET south", b"")
    if "RUN_ERROR" in result.client:
        assert exchange.events[-1]["code"] == "AGUI_FILTER_ERROR"


# A run that ends in its middle leaves messages open. What a filter adds behind the end of its run, no client reads.
@pytest.mark.parametrize("release", ["0.0.36", "0.0.45", "0.0.58", "1.0.0"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "yields in finally"])
def test_the_client_reads_what_a_faulty_filter_leaves(client: Callable[[str], Client], name: str, release: str) -> None:
    streams: list[bytes] = []

    async def scenario() -> None:
        exchange, _, _ = await serve(CASES[name][0], client=release)
        streams.append(exchange.body)

    run_clean(scenario)
    outcome = client(release).read(streams[0])
    assert outcome.accepted, outcome.error


def test_a_filter_that_yields_while_it_is_closed_is_told_off(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        exchange = Exchange()
        route = Route(path="/agent", filters=[filters.yields_in_finally])
        cancelling = anyio.CancelScope()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(EVENT_STREAM)
            await send(body(FRAMES[0]))
            cancelling.cancel()
            await anyio.sleep_forever()

        with cancelling:
            await exchange.run(AGUIMiddleware(app, Settings(routes=[route])))
        assert exchange.types == ["RUN_STARTED"]

    run_clean(scenario)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "yielded while it was being closed" in caplog.text


@on_every_loop
async def test_a_change_in_place_never_goes_out_and_is_an_error_when_debugging() -> None:
    event = {"type": "CUSTOM", "name": "x", "value": {"a": 1}}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        await send(body(frame(event)))
        await send(END)

    route = Route(path="/agent", filters=[filters.mutates])
    exchange = await Exchange().run(AGUIMiddleware(app, Settings(routes=[route])))
    assert exchange.events == [event]
    debugged = Exchange()
    with pytest.raises(RuntimeError, match="in place"):
        await debugged.run(AGUIMiddleware(app, Settings(routes=[route], debug=True)))
    assert debugged.types == ["RUN_ERROR"]


@on_every_loop
async def test_a_filter_that_awaits_forever_stalls_the_stream_until_the_client_leaves() -> None:
    """The one fault without a result of its own: nothing is known of what a filter waits for."""
    ended: list[str] = []

    async def awaits_forever(events: Any, _: Any) -> Any:
        try:
            async for event in events:
                yield event
                await anyio.sleep_forever()
        finally:
            ended.append("filter")

    exchange, app = Exchange(), App()
    route = Route(path="/agent", filters=[awaits_forever])
    async with anyio.create_task_group() as group:
        group.start_soon(exchange.run, AGUIMiddleware(app, Settings(routes=[route])))
        await exchange.events_sent(1)
        await anyio.wait_all_tasks_blocked()
        assert (exchange.types, ended) == (["RUN_STARTED"], [])
        group.cancel_scope.cancel()
    assert ended == ["filter"]


@on_every_loop
async def test_the_filters_before_a_faulty_one_see_nothing_more_and_those_behind_it_the_error() -> None:
    before: list[str] = []
    behind: list[str] = []

    def noting(notes: list[str]) -> Any:
        async def filter(events: Any, _: Any) -> Any:
            async for event in events:
                notes.append(event.type)
                yield event

        return filter

    route = Route(path="/agent", filters=[noting(before), filters.raises_on_the_ninth, noting(behind)])
    exchange = Exchange()
    with pytest.raises(FilterError):
        await exchange.run(AGUIMiddleware(App(), Settings(routes=[route])))
    assert before == [event["type"] for event in RUN[:9]]
    assert behind == before[:8] + ERROR
