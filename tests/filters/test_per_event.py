"""Filters that a chain calls instead of resuming, and what every declared filter is besides."""

import functools
from collections.abc import AsyncIterator

import pytest

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, Step, handles, per_event
from agui_middleware.protocol.event import Event
from agui_middleware.stream.chain import Chain
from agui_middleware.testing import run_filter

Events = AsyncIterator[Event]


async def drive(*filters: Filter, types: str) -> list[str]:
    """The types that leave, RUN_ERROR with its code."""
    out: list[str] = []

    def emit(event: Event) -> None:
        out.append(f"RUN_ERROR {event['code']}" if event.type == "RUN_ERROR" else event.type)

    chain = Chain(Composition(filters), Context(), emit)
    for type in types.split():
        chain.push(Event(type=type))
    chain.finish()
    chain.close()
    return out


@per_event("A", "B")
def marked(_: Context) -> Step:
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
    def remembering(context: Context) -> Step:
        contexts.append(context)
        return lambda event: event

    await drive(remembering, types="A A A")
    await drive(remembering, types="B")
    await drive(remembering, types="A")
    assert len(contexts) == len(set(contexts)) == 2


async def test_a_function_that_raises_ends_the_run_for_what_comes_behind_it() -> None:
    @per_event("A")
    def failing(_: Context) -> Step:
        def fail(event: Event) -> Event:
            raise LookupError

        return fail

    assert await drive(failing, noting, types="B A B") == ["B?", "RUN_ERROR?"]
    assert await drive(failing, types="A B") == ["RUN_ERROR AGUI_FILTER_ERROR"]


async def test_what_each_gives_is_a_filter_like_any_other() -> None:
    async def events() -> Events:
        for type in "ABC":
            yield Event(type=type)

    assert [event.type async for event in marked(events(), Context())] == ["A!", "C"]
    assert marked.__name__ == "marked"
    assert marked.__doc__ == "Marks what it sees, drops B."


@handles("A", "B")
async def held_to_the_end(events: Events, _: Context) -> Events:
    held = [event async for event in events]
    for event in held:
        yield event


@handles("B")
async def until_b(events: Events, _: Context) -> Events:
    async for _event in events:
        return
    yield _event  # makes it a generator


@pytest.mark.parametrize(
    ("declared", "left"), [(marked, "A! C"), (held_to_the_end, "C A B"), (noting, "A? B? C?"), (until_b, "A")], ids=str
)
async def test_a_declared_filter_is_called_as_any_other_and_a_wrapper_around_it_too(
    declared: Filter, left: str
) -> None:
    """`functools.wraps` copies attributes: what declares a filter has to be more than one."""

    @functools.wraps(declared)
    def wrapper(events: Events, context: Context) -> Events:
        called.append(context)
        return declared(events, context)

    called: list[Context] = []
    assert await run_filter(declared, [{"type": type} for type in "ABC"]) == [{"type": type} for type in left.split()]
    assert await run_filter(wrapper, [{"type": type} for type in "ABC"]) == [{"type": type} for type in left.split()]
    assert len(called) == 1
    assert repr(declared) == f"<filter {wrapper.__name__}>"
