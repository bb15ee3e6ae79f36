"""Declared filters as a stream drives them: synchronously, each on a stage."""

import functools
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from agui_middleware.filters import EVERYTHING, Context, Filter, handles
from agui_middleware.filters.declared import DeclaredFilter, per_event
from agui_middleware.filters.stage import Stage
from agui_middleware.protocol.event import Event
from agui_middleware.testing import run_filter

Events = AsyncIterator[Event]
A, B = Event(type="A"), Event(type="B")


def stage_of(transform: Any) -> tuple[Stage, list[Any]]:
    delivered: list[Any] = []
    return Stage(transform, delivered.append), delivered


async def passes(events: Events) -> Events:
    async for event in events:
        yield event


def test_what_is_yielded_is_delivered_before_step_returns() -> None:
    stage, delivered = stage_of(passes)
    assert stage.step(A) is None
    assert delivered == [A]
    stage.finish()
    assert stage.done
    assert stage.step(B) is None
    assert delivered == [A]


def test_close_unwinds_at_any_point_and_any_number_of_times() -> None:
    log: list[str] = []

    async def logs(events: Events) -> Events:
        try:
            async for event in events:
                yield event
        finally:
            log.append("finally")

    stage, _ = stage_of(logs)
    stage.step(A)
    stage.close()
    stage.close()
    assert log == ["finally"]


def test_what_forgot_to_yield_is_refused_without_a_warning() -> None:
    async def forgets(_: Events) -> None: ...

    with pytest.raises(TypeError, match="__aiter__"):
        stage_of(forgets)
    gc.collect()  # would warn of a coroutine that was never awaited


def test_a_filter_that_fails_while_it_is_closed_raises_that() -> None:
    async def fails(events: Events) -> Events:
        try:
            async for event in events:
                yield event
        finally:
            raise RuntimeError("no such file")

    def refuse(_: Any) -> None:
        raise ValueError("the client disconnected")

    stage = Stage(fails, refuse)
    with pytest.raises(RuntimeError, match="no such file"):
        stage.step(A)
    assert stage.done


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the garbage collector meets it too
def test_what_is_yielded_after_a_failed_delivery_is_lost_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def yields_late(events: Events) -> Events:
        try:
            async for event in events:
                yield event
        finally:
            yield B

    def refuse(_: Any) -> None:
        raise ValueError("the client disconnected")

    stage = Stage(yields_late, refuse)
    with pytest.raises(ValueError, match="the client disconnected"):
        stage.step(A)
    assert stage.done
    assert "yielded while it was being closed" in caplog.text


def test_what_is_yielded_while_closing_is_lost_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def yields_late(events: Events) -> Events:
        try:
            async for event in events:
                yield event
        finally:
            yield B

    stage, delivered = stage_of(yields_late)
    stage.step(A)
    stage.close()
    assert delivered == [A]
    assert stage.done
    assert "yielded while it was being closed" in caplog.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the garbage collector meets it too
async def test_a_generator_that_swallows_every_exit_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    swallowed = 0

    async def endless(events: Events) -> Events:
        nonlocal swallowed
        while swallowed < 5:
            try:
                async for event in events:
                    yield event
            except GeneratorExit:
                swallowed += 1

    stage, _ = stage_of(endless)
    stage.close()
    assert stage.done
    assert caplog.messages == ["a filter caught GeneratorExit and went on reading; it is abandoned"]
    del stage
    gc.collect()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the last one is abandoned
@pytest.mark.parametrize("awaits_while_closing", [0, 1, 2])
def test_a_generator_that_catches_the_error_of_its_await_still_ends(awaits_while_closing: int) -> None:
    log: list[str] = []

    async def catches(events: Events) -> Events:
        try:
            async for event in events:
                try:
                    await _Future()
                except RuntimeError:
                    yield event
        finally:
            log.append("finally")
            for _ in range(awaits_while_closing):
                with suppress(RuntimeError):
                    await _Future()

    stage, _ = stage_of(catches)
    with pytest.raises(RuntimeError, match="awaited something"):
        stage.step(A)
    assert stage.done
    assert log == ["finally"]
    del stage
    gc.collect()


class _Future:
    def __await__(self) -> Any:
        yield self


def test_the_repr_of_a_declared_filter_names_its_function() -> None:
    @handles("A")
    async def mine(events: Events, _: Context) -> Events:
        async for event in events:
            yield event

    assert repr(mine).endswith("mine>")


@handles("B")
async def ends_at_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "B":
            return
        yield event


@per_event(EVERYTHING)
def marks(_: Context) -> Any:
    return lambda event: event.replace(type=event.type + "!")


async def test_a_declared_filter_that_returns_ends_the_stream_also_where_it_is_called() -> None:
    assert await run_filter(as_called(ends_at_b), [A, B, A]) == [dict(A)]


def as_called(declared: DeclaredFilter, seen: list[str] | None = None) -> Filter:
    @functools.wraps(declared)
    async def wrapper(events: Events, context: Context) -> Events:
        async for event in declared(events, context):
            if seen is not None:
                seen.append(event.type)
            yield event

    return wrapper


async def test_a_wrapper_around_a_declared_filter_is_called() -> None:
    seen: list[str] = []
    assert await run_filter(as_called(marks, seen), [A, B]) == [{"type": "A!"}, {"type": "B!"}]
    assert seen == ["A!", "B!"]
