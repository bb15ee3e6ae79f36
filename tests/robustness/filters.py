"""Filters that go wrong, one fault each."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
from ag_ui.core import CustomEvent

from agui_middleware import Context, Event

Events = AsyncIterator[Event]


class FilterError(Exception):
    """What these filters raise; its text must reach nobody."""


def fail() -> None:
    raise FilterError("SECRET")


async def raises_before_its_first_event(events: Events, _: Context) -> Events:
    fail()
    async for event in events:
        yield event


async def raises_on_the_first(events: Events, _: Context) -> Events:
    async for event in events:
        fail()
        yield event


async def raises_on_the_ninth(events: Events, _: Context) -> Events:
    seen = 0
    async for event in events:
        seen += 1
        if seen == 9:
            fail()
        yield event


async def raises_on_the_last(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "RUN_FINISHED":
            fail()
        yield event


async def raises_in_finally(events: Events, _: Context) -> Events:
    try:
        async for event in events:
            yield event
    finally:
        fail()


async def raises_stop_iteration(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "RUN_FINISHED":
            next(iter(()))
        yield event


async def raises_stop_async_iteration(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "RUN_FINISHED":
            raise StopAsyncIteration
        yield event


async def holds_back_until_its_source_ends(events: Events, _: Context) -> Events:
    held = [event async for event in events]
    for event in held:
        yield event


async def reads_on_behind_the_end(events: Events, _: Context) -> Events:
    async for event in events:
        yield event
    async for event in events:
        yield event


async def stops_early(events: Events, _: Context) -> Events:
    seen = 0
    async for event in events:
        seen += 1
        yield event
        if seen == 4:
            return


async def never_yields(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "never":
            yield event


async def yields_a_mapping(events: Events, _: Context) -> Events:
    async for event in events:
        yield dict(event)  # type: ignore[misc]  # allowed at run time, as is a model


async def yields_a_model(events: Events, _: Context) -> Events:
    async for event in events:
        yield event
        if event.type == "RUN_STARTED":
            yield CustomEvent(name="model", value=1)  # type: ignore[misc]


async def mutates(events: Events, _: Context) -> Events:
    async for event in events:
        for value in event.values():
            if isinstance(value, dict):
                value["changed"] = True
        yield event


async def swallows_cancellation(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "RUN_FINISHED":
            try:
                await anyio.sleep_forever()
            except BaseException as error:
                if isinstance(error, GeneratorExit):
                    raise
        yield event


async def yields_in_finally(events: Events, _: Context) -> Events:
    try:
        async for event in events:
            yield event
    finally:
        yield Event(type="CUSTOM", name="late", value=0)


async def catches_generator_exit(events: Events, _: Context) -> Events:
    while True:
        try:
            async for event in events:
                yield event
            return
        except GeneratorExit:
            pass


def yields(garbage: Any) -> Any:
    """A filter that yields what is no event in the last event's place."""

    async def filter(events: Events, _: Context) -> AsyncIterator[Any]:
        async for event in events:
            yield garbage if event.type == "RUN_FINISHED" else event

    return filter


async def is_a_coroutine(events: Events, _: Context) -> None:
    async for _event in events:
        pass


def is_a_plain_generator(events: Events, _: Context) -> Any:
    yield from ()


def returns_nothing(events: Events, _: Context) -> None:
    return None


def raises_when_called(events: Events, _: Context) -> Any:
    raise FilterError("SECRET")
