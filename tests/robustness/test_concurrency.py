"""Many streams, and many tasks of one stream, at once."""

from collections.abc import AsyncIterator

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from tests.robustness.agents import FRAMES, SEEN
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body
from tests.robustness.leaks import LOOPS, on_every_loop
from tests.robustness.soak import soak


@pytest.mark.parametrize("visibility", SEEN)
@on_every_loop
async def test_a_ping_task_neither_tears_nor_reorders_anything(visibility: str) -> None:
    """The ping is sent while the stream's own task is inside `send`, of which a slow filter makes it certain."""
    inside = anyio.Event()
    pinged = anyio.Event()

    async def waiting(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        seen = 0
        async for event in events:
            seen += 1
            if seen == 5:
                inside.set()
                await pinged.wait()
            yield event

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def ping() -> None:
            await inside.wait()
            pinged.set()
            for _ in range(3):
                await send(body(b": ping\n\n"))

        await send(EVENT_STREAM)
        async with anyio.create_task_group() as group:
            group.start_soon(ping)
            for part in FRAMES:
                await send(body(part))
        await send(END)

    route = Route(path="/agent", visibility=visibility, filters=[waiting])  # type: ignore[arg-type]
    exchange = await Exchange(slow=True).run(AGUIMiddleware(app, Settings(routes=[route])))
    assert exchange.events == SEEN[visibility]
    assert exchange.body.count(b"\n\n") == len(SEEN[visibility]) + 3
    assert exchange.body.count(b":" if visibility == "hidden" else b": ping\n\n") >= 3
    assert exchange.complete


@on_every_loop
async def test_a_sender_cancelled_while_it_waits_leaves_the_others_their_turn() -> None:
    gate = anyio.Event()
    waiting: list[str] = []

    async def slow(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            await gate.wait()
            yield event

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def ping(name: str, scope: anyio.CancelScope) -> None:
            with scope:
                waiting.append(name)
                await send(body(b": %b\n\n" % name.encode()))

        await send(EVENT_STREAM)
        scopes = {name: anyio.CancelScope() for name in ("first", "second", "third")}
        async with anyio.create_task_group() as group:
            group.start_soon(send_first, send)
            await anyio.wait_all_tasks_blocked()
            for name, cancelling in scopes.items():
                group.start_soon(ping, name, cancelling)
                await anyio.wait_all_tasks_blocked()
            assert waiting == list(scopes)
            scopes["second"].cancel()
            await anyio.wait_all_tasks_blocked()
            gate.set()
        await send(END)

    async def send_first(send: Send) -> None:
        await send(body(FRAMES[0]))

    route = Route(path="/agent", filters=[slow])
    exchange = await Exchange().run(AGUIMiddleware(app, Settings(routes=[route])))
    assert exchange.types == ["RUN_STARTED"]
    assert [line for line in exchange.body.split(b"\n") if line.startswith(b":")] == [b": first", b": third"]
    assert exchange.complete


@on_every_loop
async def test_streams_of_one_middleware_share_nothing() -> None:
    """A hundred at once, each with ids of its own, every event of each interleaved with those of the others."""
    app = AGUIMiddleware(_agent, Settings(routes=[Route(path="/{mode}", visibility="hidden")]))
    exchanges = [Exchange(f"/{index}") for index in range(100)]
    async with anyio.create_task_group() as group:
        for exchange in exchanges:
            group.start_soon(exchange.run, app)
    for index, exchange in enumerate(exchanges):
        assert exchange.events == [{**event, "metadata": {"stream": str(index)}} for event in SEEN["hidden"]]


async def _agent(scope: Scope, receive: Receive, send: Send) -> None:
    mark = b',"metadata":{"stream":"%b"}}\n\n' % scope["path"][1:].encode()
    await send(EVENT_STREAM)
    for part in FRAMES:
        await anyio.lowlevel.checkpoint()
        await send(body(part.replace(b"}\n\n", mark)))
    await send(END)


@pytest.mark.untraced
@pytest.mark.parametrize("loop", LOOPS)
def test_streams_that_stall_and_leave_lose_nothing_and_give_their_memory_back(loop: str) -> None:
    """Seconds of what `python -m tests.robustness.soak` does for minutes."""
    result = soak(streams=100, seconds=2, loop=loop)
    assert {end.split(",")[0] for end in result.ends} == {
        "stays",
        "send raises",
        "receive tells",
        "is cancelled",
        "hungry",
    }
    # How many get through in that time is the machine's affair.
    assert result.ends["stays, whole"] > 5
    assert result.restored > 0
    assert result.kept_alive > 0


@on_every_loop
async def test_senders_that_are_cancelled_together_are_cancelled_each() -> None:
    """The second does not take the first one's end for the client's: that would swallow the call's cancellation."""
    inside, broken, returned = anyio.Event(), anyio.Event(), list[str]()

    async def waiting(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            inside.set()
            await anyio.sleep_forever()
            yield event

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def ping() -> None:
            with anyio.CancelScope(shield=True):
                await broken.wait()
            await send(body(b": ping\n\n"))

        await send(EVENT_STREAM)
        async with anyio.create_task_group() as group:
            group.start_soon(ping)
            try:
                await send(body(FRAMES[0]))
            finally:
                broken.set()

    async def serve() -> None:
        await Exchange().run(AGUIMiddleware(app, Settings(routes=[Route(path="/agent", filters=[waiting])])))
        returned.append("as if nothing had happened")

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        await inside.wait()
        group.cancel_scope.cancel()
    assert returned == []
