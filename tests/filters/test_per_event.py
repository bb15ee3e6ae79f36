"""Filters that a chain calls instead of resuming, and filters that overlook what they are not interested in."""

from collections.abc import AsyncIterator

import pytest

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import EVERYTHING, Context, Each, Filter, handles, overlook, per_event
from agui_middleware.protocol.event import Event
from agui_middleware.stream.chain import Chain

Events = AsyncIterator[Event]


async def drive(*filters: Filter, types: str) -> list[str]:
    """The types that leave, RUN_ERROR with its code."""
    out: list[str] = []

    async def emit(event: Event) -> None:
        out.append(f"RUN_ERROR {event['code']}" if event.type == "RUN_ERROR" else event.type)

    chain = Chain(Composition(filters), Context(), emit)
    await chain.start()
    for type in types.split():
        await chain.push(Event(type=type))
    await chain.finish()
    await chain.close()
    return out


@per_event("A", "B")
def marked(_: Context) -> Each:
    """Marks what it sees, drops B."""
    return lambda event: None if event.type == "B" else event.replace(type=event.type + "!")


@handles(EVERYTHING)
async def noting(events: Events, _: Context) -> Events:
    async for event in events:
        yield event.replace(type=event.type + "?")


async def test_a_function_of_each_event_passes_on_what_it_gives_and_drops_on_none() -> None:
    assert await drive(marked, types="A B C") == ["A!", "C"]


async def test_functions_and_generators_run_in_their_order() -> None:
    assert await drive(noting, marked, types="A B") == ["A?", "B?"]
    assert await drive(marked, noting, types="A B C") == ["A!?", "C?"]
    assert await drive(marked, per_event("A!")(lambda _: lambda event: event.replace(type="D")), types="A") == ["D"]


async def test_a_function_is_made_once_for_a_response_with_its_context() -> None:
    contexts: list[Context] = []

    @per_event("A")
    def remembering(context: Context) -> Each:
        contexts.append(context)
        return lambda event: event

    await drive(remembering, types="A A A")
    await drive(remembering, types="B")
    await drive(remembering, types="A")
    assert len(contexts) == len(set(contexts)) == 2


async def test_a_function_that_raises_ends_the_run_for_what_comes_behind_it() -> None:
    @per_event("A")
    def failing(_: Context) -> Each:
        def fail(event: Event) -> Event:
            raise LookupError

        return fail

    assert await drive(failing, noting, types="B A B") == ["B?", "RUN_ERROR?"]
    assert await drive(failing, types="A B") == ["RUN_ERROR AGUI_FILTER_ERROR"]


async def test_what_each_gives_is_a_filter_like_any_other() -> None:
    async def events() -> Events:
        for type in "ABC":
            yield Event(type=type)

    assert [event.type async for event in marked(events(), Context())] == ["A!", "C!"]
    assert marked.__name__ == "marked"
    assert marked.__doc__ == "Marks what it sees, drops B."


def dozing(dozes: bool, seen: list[str]) -> Filter:
    """Overlooks A until it sees B, and after C."""

    @handles(EVERYTHING, dozes=dozes)
    async def filter(events: Events, _: Context) -> Events:
        overlook(events, {"A"})
        async for event in events:
            seen.append(event.type)
            if event.type == "B":
                overlook(events, ())
            if event.type == "C":
                overlook(events, {"A"})
            yield event

    return filter


@pytest.mark.parametrize(("dozes", "shown"), [(True, "X B A C"), (False, "X A B A C A")])
async def test_a_filter_is_not_shown_what_it_overlooks_if_it_says_that_it_dozes(dozes: bool, shown: str) -> None:
    seen: list[str] = []
    assert await drive(dozing(dozes, seen), noting, types="X A B A C A") == ["X?", "A?", "B?", "A?", "C?", "A?"]
    assert seen == shown.split()


async def test_nothing_is_overlooked_for_a_filter_around_one_that_dozes() -> None:
    """It was never asked, and may well be interested."""
    seen: list[str] = []

    async def around(events: Events, context: Context) -> Events:
        async for event in dozing(True, [])(events, context):
            seen.append(event.type)
            yield event

    await drive(around, types="X A A")
    assert seen == ["X", "A", "A"]


async def test_overlooking_has_no_effect_on_any_other_iterator() -> None:
    async def events() -> Events:
        yield Event(type="A")

    seen: list[str] = []
    assert [event.type async for event in dozing(True, seen)(events(), Context())] == ["A"] == seen
