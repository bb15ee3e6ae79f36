"""Helpers for tests of your own filters.

async def test_without_debug_drops_debug_events():
    events = [{"type": "CUSTOM", "name": "debug", "value": 1}, {"type": "CUSTOM", "name": "x", "value": 2}]
    assert await run_filter(without_debug, events) == events[1:]
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Filter, Loss
from agui_middleware.protocol.event import Event, JsonObject, as_event
from agui_middleware.protocol.json_object import encode as encode_json
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream import sse
from agui_middleware.stream.drive import run_filters


async def run_filter(
    filter: Filter,
    events: Iterable[Mapping[str, Any]],
    *,
    client: ClientVersion | str | None = None,
    scope: Mapping[str, Any] | None = None,
    input: Mapping[str, Any] | None = None,
    losses: list[Loss] | None = None,
) -> list[dict[str, Any]]:
    """What `filter` makes of `events`, as the middleware drives it.

    `client`, `scope` and `input` are what its context says; what it reports as lost is appended to `losses`. Raises what
    it raises.
    """
    version = ClientVersion.parse(client) if isinstance(client, str) else client
    on_loss = None if losses is None else losses.append
    posted = None if input is None else JsonObject(input)
    context = Context(version, None, scope, on_loss, input=posted)
    left = await run_filters([as_event(event) for event in events], Composition([filter]), context)
    return [dict(event) for out in left for event in out]


def encode_events(events: Iterable[Mapping[str, Any]]) -> bytes:
    """A stream of Server-Sent Events, as an agent would send it."""
    return b"".join(sse.encode(encode_json(event)) for event in events)


def decode_events(stream: bytes) -> list[dict[str, Any]]:
    """The events of a stream of Server-Sent Events. Raises `MalformedEvent` for one that is none."""
    decoder = sse.Decoder(max(len(stream), 1))
    items = [*decoder.feed(stream), *decoder.finish()]
    return [dict(Event.parse(item.data)) for item in items if isinstance(item, sse.Frame) and item.data is not None]
