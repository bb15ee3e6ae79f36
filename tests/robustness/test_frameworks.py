"""The middleware around the frameworks people serve AG-UI with, in process."""

import gc
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Annotated, Any

import anyio
import pytest
from fastapi import BackgroundTasks, Depends, FastAPI
from fastapi.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from tests.robustness.agents import FRAMES, SEEN
from tests.robustness.exchange import Exchange
from tests.robustness.frameworks import EVENTS, FRAMEWORKS, ON_TRIO, build
from tests.robustness.leaks import LOOPS, on_every_loop, run_clean

STOP = 8
DJANGOS_OWN = "SpooledTemporaryFile"  # the request's body, which Django leaves to the garbage collector
SUPPORTED = [(loop, name) for loop in LOOPS for name in FRAMEWORKS if loop != "trio" or name in ON_TRIO]
on_every_framework = pytest.mark.parametrize(("loop", "framework"), SUPPORTED)


class Agent:
    """Yields `FRAMES`; stops before the ninth until `go_on`, if it is to; counts its beginnings and ends."""

    def __init__(self, stops: bool = False, fails: bool = False) -> None:
        self.reached, self.go_on = anyio.Event(), anyio.Event()
        self.began, self.ended = Counter[str](), Counter[str]()
        self._stops, self._fails = stops, fails

    async def __call__(self, key: str) -> AsyncIterator[bytes]:
        with self.counted("agent"):
            for index, frame in enumerate(FRAMES):
                if index == STOP and self._stops:
                    self.reached.set()
                    await self.go_on.wait()
                if index == STOP and self._fails:
                    raise ZeroDivisionError
                yield frame

    async def filter(self, events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        with self.counted("filter"):
            async for event in events:
                yield event

    @contextmanager
    def counted(self, name: str) -> Iterator[None]:
        self.began[name] += 1
        try:
            yield
        finally:
            self.ended[name] += 1


def wrapped(app: ASGIApp, visibility: Any = "inline", *filters: Any, path: str = "/agent") -> AGUIMiddleware:
    return AGUIMiddleware(app, Settings(routes=[Route(path=path, visibility=visibility, filters=list(filters))]))


@on_every_framework
@pytest.mark.parametrize("visibility", SEEN)
def test_a_run_arrives_event_by_event(loop: str, framework: str, visibility: str) -> None:
    """The agent waits in the middle for what the client has read until then, so nothing is kept from it."""

    async def scenario() -> None:
        agent = Agent(stops=True)
        app, exchange = wrapped(build(framework, agent), visibility, agent.filter), Exchange()
        async with anyio.create_task_group() as group:
            group.start_soon(exchange.run, app)
            await exchange.events_sent(sum(_visible(frame, visibility) for frame in FRAMES[:STOP]))
            await agent.reached.wait()
            agent.go_on.set()
        assert exchange.events == SEEN[visibility]
        assert exchange.complete
        assert agent.began == agent.ended == {"agent": 1, "filter": 1}

    run_clean(scenario, loop)


def _visible(frame: bytes, visibility: str) -> bool:
    if visibility == "attributed":
        return True
    return b"SUBAGENT_" not in frame and (visibility == "inline" or b"subagentRunId" not in frame)


@on_every_framework
def test_a_client_that_leaves_ends_the_agent_and_the_filters_once(loop: str, framework: str) -> None:
    async def scenario() -> None:
        agent = Agent(stops=True)
        app, exchange = wrapped(build(framework, agent), "inline", agent.filter), Exchange()

        async def serve() -> None:
            await exchange.run(app)
            if framework == "django":  # leaves the view's generator to the garbage collector, which may come late
                assert agent.ended["filter"] == 1
                gc.collect()
                await anyio.wait_all_tasks_blocked()
            assert agent.began == agent.ended == {"agent": 1, "filter": 1}

        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            await agent.reached.wait()
            exchange.disconnect()
            await anyio.wait_all_tasks_blocked()
            agent.go_on.set()  # for the app that looks out for nothing

    run_clean(scenario, loop, tolerates=DJANGOS_OWN)


@on_every_framework
def test_an_agent_that_fails_is_not_made_to_look_as_if_it_had_not(loop: str, framework: str) -> None:
    """Frameworks differ in what the server hears of it; the client gets what came, and no end that was not there."""

    async def scenario() -> None:
        agent, exchange = Agent(fails=True), Exchange()
        with suppress(Exception):
            await exchange.run(wrapped(build(framework, agent), "inline", agent.filter))
        assert exchange.types == [event["type"] for event in SEEN["inline"][:6]]
        assert not exchange.complete
        assert agent.began == agent.ended == {"agent": 1, "filter": 1}

    run_clean(scenario, loop, tolerates=DJANGOS_OWN)


@on_every_loop
async def test_fastapi_dependencies_and_background_tasks_run_around_the_stream() -> None:
    """A dependency with yield is torn down, and a background task run, behind the stream and once each."""
    order: list[str] = []
    app = FastAPI()

    async def resource() -> AsyncIterator[str]:
        order.append("opened")
        yield "resource"
        order.append("closed")

    @app.post("/agent")
    async def endpoint(resource: Annotated[str, Depends(resource)], tasks: BackgroundTasks) -> StreamingResponse:
        async def stream() -> AsyncIterator[bytes]:
            for frame in FRAMES:
                yield frame
            order.append("streamed")

        tasks.add_task(order.append, "in the background")
        return StreamingResponse(stream(), media_type=EVENTS)

    exchange = await Exchange().run(wrapped(app, "hidden"))
    assert exchange.events == SEEN["hidden"]
    assert sorted(order) == sorted(["opened", "streamed", "in the background", "closed"])
    assert order.index("streamed") < order.index("in the background")


@pytest.mark.parametrize("inside", [True, False], ids=["added inside", "wrapped around"])
@on_every_loop
async def test_what_the_endpoint_sets_is_seen_by_its_background_task(inside: bool) -> None:
    """Context variables: the app runs in the server's own task, and nothing runs in a copy of its context."""
    user: ContextVar[str] = ContextVar("user", default="nobody")
    seen: list[tuple[str, str]] = []
    app = FastAPI()

    async def noting(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            seen.append(("filter", user.get()))
            yield event

    async def look() -> None:
        seen.append(("task", user.get()))

    @app.post("/agent")
    async def endpoint(tasks: BackgroundTasks) -> StreamingResponse:
        user.set("ada")
        tasks.add_task(look)

        async def stream() -> AsyncIterator[bytes]:
            yield FRAMES[0]

        return StreamingResponse(stream(), media_type=EVENTS)

    settings = Settings(routes=[Route(path="/agent", filters=[noting])])
    if inside:
        app.add_middleware(AGUIMiddleware, settings=settings)
    await Exchange().run(app if inside else AGUIMiddleware(app, settings))
    assert seen == [("filter", "ada"), ("task", "ada")]


def _streaming(path: str) -> FastAPI:
    app = FastAPI()

    @app.post(path)
    async def endpoint() -> StreamingResponse:
        async def stream() -> AsyncIterator[bytes]:
            for frame in FRAMES:
                yield frame

        return StreamingResponse(stream(), media_type=EVENTS)

    return app


@on_every_loop
async def test_a_mounted_app_is_served_by_its_own_middleware_and_by_that_of_its_host() -> None:
    """Inside the mount a route has the app's own path, outside it the whole path."""
    inner = _streaming("/agent")
    inner.add_middleware(AGUIMiddleware, settings=Settings(routes=[Route(path="/agent", visibility="hidden")]))
    host = FastAPI()
    host.mount("/own", inner)
    host.mount("/plain", _streaming("/agent"))
    app = wrapped(host, "inline", path="/plain/agent")
    assert (await Exchange("/own/agent").run(app)).events == SEEN["hidden"]
    assert (await Exchange("/plain/agent").run(app)).events == SEEN["inline"]
    assert (await Exchange("/agent").run(app)).sent[0]["status"] == 404


@pytest.mark.parametrize("path", ["/behind/agent", "/agent"], ids=["prefix kept", "prefix taken off"])
@on_every_loop
async def test_a_root_path_is_no_part_of_a_route(path: str) -> None:
    """A proxy's prefix: servers put it in front of `path`, as ASGI has it, and some proxies have taken it off."""
    app = _streaming("/agent")
    exchange = Exchange(path)
    exchange.scope["root_path"] = "/behind"
    assert (await exchange.run(wrapped(app, "hidden"))).events == SEEN["hidden"]


@on_every_loop
async def test_two_middlewares_one_in_the_other_do_what_one_does() -> None:
    for inner, outer, shown in (("inline", "hidden", "inline"), ("hidden", "inline", "hidden")):
        exchange = await Exchange().run(wrapped(wrapped(_streaming("/agent"), inner), outer))
        assert exchange.events == SEEN[shown]


@on_every_loop
async def test_what_is_no_http_passes_with_the_same_objects() -> None:
    seen: list[tuple[Any, Any, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope, receive, send))

    async def receive() -> Any: ...

    async def send(message: Any) -> None: ...

    for type in ("lifespan", "websocket", "something later"):
        scope: Scope = {"type": type, "path": "/agent", "headers": []}
        await wrapped(app, "hidden")(scope, receive, send)
        assert seen.pop() == (scope, receive, send)
