"""A stream that breaks off: what filters held back of whole events still leaves, half of an event does not."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import anyio
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, ClientVersion, Context, Event, Route, Settings
from tests.robustness import filters
from tests.robustness.agents import FRAMES, SEEN
from tests.robustness.exchange import EVENT_STREAM, Exchange, body, frame
from tests.robustness.leaks import on_every_loop

Visibility = Literal["attributed", "inline", "hidden"]
ONE_AT_A_TIME = "0.0.36"  # holds back what comes while a message is open
BOTH_OPEN = 10  # frames, behind which both subagents have a message open, and each has said something


class AppError(Exception):
    """What the app raises of its own."""


def breaking_off(*parts: bytes) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        for part in parts:
            await send(body(part))
        raise AppError

    return app


def wrapped(app: ASGIApp, visibility: Visibility, *filters: Any, client: str | None = None) -> AGUIMiddleware:
    release = None if client is None else ClientVersion.parse(client)
    route = Route(path="/agent", visibility=visibility, client=release, filters=list(filters))
    return AGUIMiddleware(app, Settings(routes=[route]))


async def broken(app: AGUIMiddleware, query: bytes = b"") -> Exchange:
    exchange = Exchange(query=query)
    with pytest.raises(AppError):
        await exchange.run(app)
    assert not exchange.complete
    assert exchange.body.endswith(b"\n\n") or not exchange.body
    return exchange


@on_every_loop
async def test_a_text_that_waits_for_another_to_end_arrives() -> None:
    exchange = await broken(wrapped(breaking_off(*FRAMES[:BOTH_OPEN]), "inline", client=ONE_AT_A_TIME))
    assert [event["delta"] for event in exchange.events if "delta" in event][1:] == ["SECRET north", "SECRET south"]
    assert not {"RUN_FINISHED", "RUN_ERROR"} & set(exchange.types)


@pytest.mark.parametrize("visibility", SEEN)
@pytest.mark.parametrize("half", [0, 20, 40])
@on_every_loop
async def test_what_a_filter_holds_arrives_without_the_half_event_behind_it(visibility: Visibility, half: int) -> None:
    parts = [*FRAMES[:8], FRAMES[8][:half]]
    held = filters.holds_back_until_its_source_ends
    exchange = await broken(wrapped(breaking_off(*parts), visibility, held))
    shown = [event for event in SEEN[visibility] if frame(event) in map(_untagged(visibility), FRAMES[:8])]
    assert exchange.events == shown


def _untagged(visibility: Visibility) -> Any:
    tags = (b',"subagentRunId":"s1"', b',"subagentRunId":"s2"') if visibility != "attributed" else ()

    def untagged(part: bytes) -> bytes:
        for tag in tags:
            part = part.replace(tag, b"")
        return part

    return untagged


@pytest.mark.parametrize("client", [None, ONE_AT_A_TIME, "0.0.58"])
def test_hidden_tells_nothing_wherever_the_stream_breaks_off(client: str | None) -> None:
    """At every single byte: an event is there whole, or not at all, and never a subagent's."""
    stream = b"".join(FRAMES)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await breaking_off(stream[: int(scope["query_string"])])(scope, receive, send)

    async def scenario() -> None:
        hiding = wrapped(app, "hidden", client=client)
        for end in range(len(stream)):
            exchange = await broken(hiding, b"%d" % end)
            assert b"SECRET" not in exchange.body
            assert exchange.events == SEEN["hidden"][: len(exchange.events)]

    asyncio.run(scenario())


@on_every_loop
async def test_a_filter_that_fails_over_what_it_held_does_not_take_the_apps_error_away() -> None:
    async def failing(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        held = [event async for event in events]
        yield held[0]
        filters.fail()

    exchange = await broken(wrapped(breaking_off(*FRAMES[:8]), "inline", failing))
    assert exchange.types == ["RUN_STARTED", "RUN_ERROR"]
    assert b"SECRET" not in exchange.body


@on_every_loop
async def test_a_client_that_has_left_is_sent_nothing_more() -> None:
    """The app learns that the client has left, and raises for it: what was held stays where it is."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        for part in FRAMES[:BOTH_OPEN]:
            await send(body(part))
        await receive()
        exchange.disconnect()
        assert (await receive())["type"] == "http.disconnect"
        raise AppError

    exchange = Exchange()
    with pytest.raises(AppError):
        await exchange.run(wrapped(app, "inline", client=ONE_AT_A_TIME))
    assert b"SECRET north" in exchange.body
    assert b"SECRET south" not in exchange.body


@on_every_loop
async def test_an_app_that_is_cancelled_sends_nothing_more() -> None:
    """Servers cancel what streams to a client that has left, and when they shut down."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(EVENT_STREAM)
        for part in FRAMES[:BOTH_OPEN]:
            await send(body(part))
        cancelling.cancel()
        await anyio.sleep_forever()

    exchange, cancelling = Exchange(), anyio.CancelScope()
    with cancelling:
        await exchange.run(wrapped(app, "inline", client=ONE_AT_A_TIME))
    assert b"SECRET north" in exchange.body
    assert b"SECRET south" not in exchange.body
