"""Loops inside loops, and side by side."""

from collections.abc import AsyncIterator

import anyio
import pytest

from agui_middleware.agent_events import AgentEvent, Nested, TextDelta, merge, nested_events


async def says(*words: str) -> AsyncIterator[AgentEvent]:
    for word in words:
        yield TextDelta(text=word)


async def test_what_is_inside_a_tool_is_nested_under_its_call() -> None:
    nested = [event async for event in nested_events("search", "call-1", says("a", "b"))]
    assert nested == [Nested(tool="search", id="call-1", event=TextDelta(text=word)) for word in "ab"]


async def test_closing_what_is_inside_closes_the_run_inside() -> None:
    ended = False

    async def run() -> AsyncIterator[AgentEvent]:
        nonlocal ended
        try:
            yield TextDelta(text="Hello")
        finally:
            ended = True

    events = nested_events("search", "call-1", run())
    await anext(events)
    await events.aclose()
    assert ended


async def test_loops_side_by_side_are_told_whole_and_each_in_its_order() -> None:
    told = [
        event.text async for event in merge(says("a", "b", "c"), says(), says("1", "2")) if event.type == "text_delta"
    ]
    assert [text for text in told if text.isalpha()] == ["a", "b", "c"]
    assert [text for text in told if text.isdigit()] == ["1", "2"]


async def test_loops_that_run_side_by_side_end_when_nobody_listens_any_more() -> None:
    waiting, ended = anyio.Event(), []

    async def talks() -> AsyncIterator[AgentEvent]:
        try:
            await waiting.wait()
            yield TextDelta(text="Hello")
            yield TextDelta(text="Never")
        finally:
            ended.append("talks")

    async def waits() -> AsyncIterator[AgentEvent]:
        try:
            waiting.set()
            await anyio.sleep_forever()
            yield TextDelta(text="Never")
        finally:
            ended.append("waits")

    events = merge(talks(), waits())
    with anyio.fail_after(10):
        assert await anext(events) == TextDelta(text="Hello")
        assert ended == []
        await events.aclose()
    assert sorted(ended) == ["talks", "waits"]


async def test_a_loop_that_raises_ends_the_others() -> None:
    ended = anyio.Event()

    async def waits() -> AsyncIterator[AgentEvent]:
        try:
            await anyio.sleep_forever()
            yield TextDelta(text="Never")
        finally:
            ended.set()

    async def raises() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text=str(1 // len(ended_by)))

    ended_by: list[str] = []
    with anyio.fail_after(10), pytest.raises(ZeroDivisionError):
        assert [event async for event in merge(waits(), raises())] == []
    assert ended.is_set()


async def test_what_is_no_generator_needs_no_closing() -> None:
    class Once:
        def __aiter__(self) -> AsyncIterator[AgentEvent]:
            return self

        async def __anext__(self) -> AgentEvent:
            raise StopAsyncIteration

    assert [event async for event in merge(Once(), says("a"))] == [TextDelta(text="a")]
