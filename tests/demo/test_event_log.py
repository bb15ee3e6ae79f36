"""What is watched of a filter, and which events a plan holds back."""

from collections.abc import AsyncIterator

from agui_middleware.demo.event_log import Reason, Watched
from agui_middleware.filters import Context, handles
from agui_middleware.protocol.event import Event
from agui_middleware.testing import encode_events, run_filter
from tests.demo.test_trace import steps, traced
from tests.notation import stream


@handles("RAW")
async def without_raw(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for _event in events:
        pass
    for event in tuple[Event, ...]():
        yield event


async def test_a_filter_is_watched_at_the_events_that_it_handles() -> None:
    watched = Watched(without_raw, Reason("raw", "It is nobody's business."))
    assert await run_filter(watched, stream("RS r; RF r")) == stream("RS r; RF r")
    assert not watched.acted
    watched.forget()
    assert await run_filter(watched, stream("RS r; RAW; RF r")) == stream("RS r; RF r")
    assert watched.acted


def held_and_released(text: str) -> list[tuple[str, list[int]]]:
    return [(record["fate"], record["released"]) for record in steps(traced(encode_events(stream(text)), "0.0.36"))]


def test_a_start_that_joins_the_text_that_waits_is_not_held() -> None:
    """It never leaves, and so nothing could tell of its release."""
    told = held_and_released("RS r; TS a; TS b; TE b; TS b; TC b x; TE b; TE a; RE oops")
    assert [fate for fate, _ in told[2:7]] == ["held", "held", "dropped", "held", "held"]
    assert told[7] == ("same", [3, 6, 7])


def test_what_two_places_hold_is_released_once() -> None:
    """A text that goes on behind a snapshot is kept for itself, and for the snapshot that restates it."""
    told = held_and_released("RS r; TS a; TS b; SNAP a b; TC b y; TE b; TE a; RE oops")
    assert told[6] == ("same", [3, 5, 6, 4])
