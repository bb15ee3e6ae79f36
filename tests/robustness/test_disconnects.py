"""A client that leaves, at every moment and in every way in which a server shows it."""

from typing import Any

import anyio
import pytest
from starlette.types import Message

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.robustness.agents import HIDDEN, INLINE
from tests.robustness.exchange import Exchange
from tests.robustness.leaks import on_every_loop
from tests.robustness.stage import MOMENTS, Stage

WAYS = ("send raises", "receive tells", "the task is cancelled")


async def leave(stage: Stage, way: str) -> Exchange:
    """Serve until the stage stops, have the client leave, and check once the call has returned."""
    gone: list[bool] = []

    def refuse_when_gone(_: Message) -> None:
        if gone and way == "send raises":
            raise OSError("the client has left")

    exchange = Exchange(on_send=refuse_when_gone)
    cancelling = anyio.CancelScope()

    async def serve() -> None:
        with cancelling:
            try:
                await exchange.run(stage.app)
            except* OSError:
                assert way == "send raises"
            finally:
                # Before the call has returned to the server: nothing is left to a garbage collector or a later task.
                assert stage.began == stage.ended
                assert set(stage.ended.values()) == {1}

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        await stage.reached.wait()
        gone.append(True)
        if way == "send raises":
            stage.go_on.set()
        elif way == "receive tells":
            exchange.disconnect()
        else:
            cancelling.cancel()
    return exchange


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", MOMENTS)
@on_every_loop
async def test_everything_unwinds_once_before_the_call_returns(moment: str, way: str) -> None:
    stage = Stage(moment)
    exchange = await leave(stage, way)
    assert not exchange.complete
    assert exchange.events == INLINE[: len(exchange.events)]
    assert set(stage.began) >= ({"app"} if moment == "before start" else {"app", "agent", "passing", "awaiting"})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", MOMENTS)
@on_every_loop
async def test_a_broken_hidden_stream_tells_nothing_more(moment: str, way: str) -> None:
    exchange = await leave(Stage(moment, "hidden"), way)
    assert b"SECRET" not in exchange.body
    assert exchange.events == HIDDEN[: len(exchange.events)]


@pytest.mark.parametrize("moment", MOMENTS)
@on_every_loop
async def test_a_client_that_stays_gets_the_whole_run(moment: str) -> None:
    """The stage itself loses nothing: what the others of this file miss, the client's leaving took."""
    stage, exchange = Stage(moment), Exchange()
    async with anyio.create_task_group() as group:
        group.start_soon(exchange.run, stage.app)
        await stage.reached.wait()
        stage.go_on.set()
    assert exchange.events == INLINE
    assert exchange.complete
    assert stage.began == stage.ended


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("raises", [False, True])
@on_every_loop
async def test_a_finally_that_takes_its_time_is_waited_for(way: str, raises: bool) -> None:
    """Also where the task is being cancelled, as far as the clean-up itself is shielded; what it raises is logged."""
    cleaned: list[str] = []

    async def slow_to_close(events: Any, _: Any) -> Any:
        try:
            async for event in events:
                yield event
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                cleaned.append("done")
            if raises:
                raise ValueError("in finally")

    stage = Stage("between events")
    stage.app = AGUIMiddleware(stage.app.app, _one_route(slow_to_close))
    await leave(stage, way)
    assert cleaned == ["done"]


def _one_route(*filters: Any) -> Settings:
    return Settings(routes=[Route(path="/agent", filters=list(filters))])
