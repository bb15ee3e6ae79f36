from collections.abc import AsyncIterator

import pytest

from agui_middleware import ClientVersion, Context, Event
from agui_middleware.filters import handles
from agui_middleware.filters.contract import Loss
from agui_middleware.protocol.event import MalformedEvent
from agui_middleware.testing import decode_events, encode_events, run_filter

Events = AsyncIterator[Event]


async def without_debug(events: Events, context: Context) -> Events:
    async for event in events:
        if event.type != "CUSTOM" or event["name"] != "debug":
            yield event
        else:
            context.lost("debug", "nobody asked")


EVENTS = [{"type": "CUSTOM", "name": "debug", "value": 1}, {"type": "CUSTOM", "name": "x", "value": 2}]


async def test_run_filter_gives_what_a_filter_leaves() -> None:
    assert await run_filter(without_debug, EVENTS) == EVENTS[1:]


@pytest.mark.parametrize("client", ["0.0.58", ClientVersion(0, 0, 58)])
async def test_the_context_is_what_was_asked_for(client: str | ClientVersion) -> None:
    seen: list[Context] = []

    async def looks(events: Events, context: Context) -> Events:
        seen.append(context)
        async for event in events:
            yield event

    losses: list[Loss] = []
    await run_filter(looks, EVENTS, client=client, scope={"path": "/agent"}, losses=losses)
    await run_filter(without_debug, [*EVENTS, *EVENTS], losses=losses)
    assert (seen[0].client, seen[0].scope) == (ClientVersion(0, 0, 58), {"path": "/agent"})
    assert [loss.feature for loss in losses] == ["debug"]


async def test_run_filter_raises_what_a_filter_raises() -> None:
    @handles("CUSTOM")
    async def fails(events: Events, _: Context) -> Events:
        async for _event in events:
            raise ZeroDivisionError
        yield Event(type="never")

    with pytest.raises(ZeroDivisionError):
        await run_filter(fails, EVENTS)


async def test_run_filter_refuses_what_is_no_event() -> None:
    with pytest.raises(TypeError):
        await run_filter(without_debug, [{"name": "no type"}])


def test_events_to_a_stream_and_back() -> None:
    stream = encode_events([*EVENTS, Event(type="X", text="é\ud83d\n")])
    assert stream.startswith(b'data: {"type":"CUSTOM","name":"debug","value":1}\n\n')
    assert decode_events(stream) == [*EVENTS, {"type": "X", "text": "é\ud83d\n"}]
    assert decode_events(b": ping\r\n\r\n" + stream.replace(b"\n", b"\r\n")[:-2] + b"\r\nid: 5\n\n") == decode_events(
        stream
    )
    assert decode_events(b"") == []


def test_a_stream_with_something_else_than_events_is_refused() -> None:
    with pytest.raises(MalformedEvent):
        decode_events(b"data: [DONE]\n\n")
