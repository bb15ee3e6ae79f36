import contextvars
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from agui_middleware.stream.pump import Pump
from tests.conftest import Run

Log = list[Any]
variable = contextvars.ContextVar("variable", default="unset")


def pump_of(
    transform: Callable[[AsyncIterator[int]], AsyncIterator[Any]],
    log: Log,
    deliver: Callable[[Any], Awaitable[None]] | None = None,
) -> Pump:
    async def append(output: Any) -> None:
        log.append(output)

    return Pump(transform, deliver or append)


async def double(items: AsyncIterator[int]) -> AsyncIterator[int]:
    async for item in items:
        yield item
        yield item


async def test_what_is_yielded_is_delivered_before_push_returns() -> None:
    log: Log = []
    pump = pump_of(double, log)
    await pump.start()
    assert log == []
    for item in range(3):
        await pump.push(item)
        assert log == [item, item]
        log.clear()
    await pump.finish()
    assert (log, pump.done) == ([], True)


async def test_what_is_yielded_is_delivered_before_the_next_item_is_asked_for() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[str]:
        yield "before"
        async for item in items:
            log.append(f"took {item}")
            yield f"first of {item}"
            log.append("resumed")
            yield f"second of {item}"
        yield "after"

    pump = pump_of(transform, log)
    await pump.start()
    assert log == ["before"]
    await pump.push(1)
    assert log == ["before", "took 1", "first of 1", "resumed", "second of 1"]
    await pump.finish()
    assert log[-1] == "after"


def test_real_awaits_reach_the_event_loop(run: Run) -> None:
    """The generator waits for what only another task sets, and the pushing task waits with it."""

    async def scenario() -> None:
        log: Log = []
        asked, answered = anyio.Event(), anyio.Event()

        async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
            async for item in items:
                asked.set()
                await answered.wait()
                yield item

        async def answer() -> None:
            await asked.wait()
            assert log == []
            answered.set()

        pump = pump_of(transform, log)
        await pump.start()
        async with anyio.create_task_group() as group:
            group.start_soon(answer)
            await pump.push(1)
            assert log == [1]
        await pump.close()

    run(scenario)


def test_a_slow_delivery_holds_the_pusher_up(run: Run) -> None:
    async def scenario() -> None:
        log: Log = []
        room = anyio.Event()

        async def deliver(output: int) -> None:
            log.append("full")
            await room.wait()
            log.append(output)

        async def make_room() -> None:
            assert log == ["full"]
            room.set()

        pump = pump_of(double, log, deliver)
        await pump.start()
        async with anyio.create_task_group() as group:
            group.start_soon(make_room)
            await pump.push(1)
        assert log == ["full", 1, "full", 1]
        await pump.close()

    run(scenario)


async def test_the_generator_runs_in_the_context_of_the_pusher() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[str]:
        async for _ in items:
            yield variable.get()
            variable.set("generator")

    pump = pump_of(transform, log)
    await pump.start()
    variable.set("pusher")
    await pump.push(1)
    assert log == ["pusher"]
    assert variable.get() == "generator"
    await pump.close()


async def test_an_error_of_the_generator_is_raised_by_the_push_that_caused_it() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[float]:
        try:
            async for item in items:
                yield 1 / item
        finally:
            log.append("finally")

    pump = pump_of(transform, log)
    await pump.start()
    await pump.push(1)
    with pytest.raises(ZeroDivisionError):
        await pump.push(0)
    assert pump.done
    assert log == [1.0, "finally"]
    await pump.close()
    await pump.finish()
    assert log == [1.0, "finally"]


def test_an_error_behind_a_real_await_is_raised_too(run: Run) -> None:
    async def scenario() -> None:
        async def transform(items: AsyncIterator[int]) -> AsyncIterator[float]:
            async for item in items:
                await anyio.lowlevel.checkpoint()
                yield 1 / item

        pump = pump_of(transform, [])
        await pump.start()
        with pytest.raises(ZeroDivisionError):
            await pump.push(0)
        assert pump.done

    run(scenario)


async def test_an_error_of_the_delivery_passes_through_the_generator() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield item
        finally:
            log.append("finally")

    async def deliver(output: int) -> None:
        raise OSError("gone")

    pump = pump_of(transform, log, deliver)
    await pump.start()
    with pytest.raises(OSError, match="gone"):
        await pump.push(1)
    assert (log, pump.done) == (["finally"], True)


async def test_a_generator_that_returns_early_is_done() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        async for item in items:
            yield item
            return

    pump = pump_of(transform, log)
    await pump.start()
    assert not pump.done
    await pump.push(1)
    assert (log, pump.done) == ([1], True)


def test_a_generator_that_returns_behind_a_real_await_is_done(run: Run) -> None:
    async def scenario() -> None:
        async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
            async for item in items:
                yield item
                await anyio.lowlevel.checkpoint()
                return

        pump = pump_of(transform, [])
        await pump.start()
        await pump.push(1)
        assert pump.done

    run(scenario)


def test_a_cancellation_unwinds_the_generator(run: Run) -> None:
    async def scenario() -> None:
        log: Log = []
        waits = anyio.Event()

        async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
            try:
                async for item in items:
                    waits.set()
                    await anyio.sleep_forever()
                    yield item
            finally:
                log.append("finally")

        async def cancel(scope: anyio.CancelScope) -> None:
            await waits.wait()
            scope.cancel()

        pump = pump_of(transform, log)
        await pump.start()
        async with anyio.create_task_group() as group:
            group.start_soon(cancel, group.cancel_scope)
            await pump.push(1)
        assert (log, pump.done) == (["finally"], True)
        await pump.close()
        assert log == ["finally"]

    run(scenario)


async def test_a_generator_may_yield_behind_its_source_and_ask_once_more() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[str]:
        async for _ in items:
            pass
        yield "end"
        async for _ in items:
            log.append("never")
        yield "very end"

    pump = pump_of(transform, log)
    await pump.start()
    await pump.finish()
    assert (log, pump.done) == (["end", "very end"], True)


async def test_a_generator_that_never_stops_asking_is_closed_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            while True:
                async for item in items:
                    yield item
        finally:
            log.append("finally")

    pump = pump_of(transform, log)
    await pump.start()
    await pump.finish()
    assert (log, pump.done, caplog.messages) == (["finally"], True, [])


async def test_close_runs_the_finally_blocks_before_it_returns_and_once() -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield item
        finally:
            await anyio.lowlevel.checkpoint()
            log.append("finally")

    pump = pump_of(transform, log)
    await pump.start()
    await pump.push(1)
    for _ in range(3):
        await pump.close()
        assert (log, pump.done) == ([1, "finally"], True)


async def test_close_unwinds_a_generator_that_delegates() -> None:
    log: Log = []

    async def inner(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield item
        finally:
            log.append("inner")

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in inner(items):
                yield item
        finally:
            log.append("outer")

    pump = pump_of(transform, log)
    await pump.start()
    await pump.push(1)
    await pump.close()
    assert log == [1, "inner", "outer"]


async def test_close_before_start_does_nothing() -> None:
    pump = pump_of(double, [])
    await pump.close()
    assert pump.done


async def test_an_error_while_it_is_closed_is_raised() -> None:
    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield item
        finally:
            raise ValueError("in finally")

    pump = pump_of(transform, [])
    await pump.start()
    with pytest.raises(ValueError, match="in finally"):
        await pump.close()
    assert pump.done


async def test_what_is_yielded_in_finally_is_lost_with_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[str]:
        try:
            async for _ in items:
                yield "item"
        finally:
            yield "closing"

    pump = pump_of(transform, log)
    await pump.start()
    await pump.push(1)
    await pump.close()
    assert (log, pump.done) == (["item"], True)
    assert caplog.messages == ["a filter yielded while it was being closed; what it yielded is lost"]


async def test_what_is_yielded_when_the_delivery_failed_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    async def transform(items: AsyncIterator[int]) -> AsyncIterator[str]:
        try:
            async for _ in items:
                yield "item"
        finally:
            yield "closing"

    async def deliver(output: str) -> None:
        raise OSError("gone")

    pump = pump_of(transform, [], deliver)
    await pump.start()
    with pytest.raises(OSError, match="gone"):
        await pump.push(1)
    assert caplog.messages == ["a filter yielded while it was being closed; what it yielded is lost"]


async def test_a_runtime_error_of_the_generators_own_is_raised() -> None:
    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield item
        finally:
            raise RuntimeError("of its own")

    async def deliver(output: int) -> None:
        raise OSError("gone")

    pump = pump_of(transform, [], deliver)
    await pump.start()
    with pytest.raises(RuntimeError, match="of its own"):
        await pump.push(1)


async def test_one_swallowed_exit_is_forgiven(caplog: pytest.LogCaptureFixture) -> None:
    log: Log = []

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        try:
            async for item in items:
                yield item
        except GeneratorExit:
            log.append("swallowed")
        try:
            async for item in items:
                yield item
        finally:
            log.append("finally")

    pump = pump_of(transform, log)
    await pump.start()
    await pump.close()
    assert (log, caplog.messages) == (["swallowed", "finally"], [])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the garbage collector meets it too
async def test_a_generator_that_swallows_every_exit_is_abandoned(caplog: pytest.LogCaptureFixture) -> None:
    swallowed = 0

    async def transform(items: AsyncIterator[int]) -> AsyncIterator[int]:
        nonlocal swallowed
        while swallowed < 5:
            try:
                async for item in items:
                    yield item
            except GeneratorExit:
                swallowed += 1

    pump = pump_of(transform, [])
    await pump.start()
    await pump.close()
    assert pump.done
    assert caplog.messages == ["a filter caught GeneratorExit and went on reading; it is abandoned"]
    assert swallowed == 2
    del pump
    gc.collect()


async def test_any_async_iterator_will_do() -> None:
    """One that is no generator has no `aclose`."""
    log: Log = []

    class Doubled:
        def __init__(self, items: AsyncIterator[int]) -> None:
            self._items = items

        def __aiter__(self) -> "Doubled":
            return self

        async def __anext__(self) -> int:
            return 2 * await anext(self._items)

    pump = pump_of(Doubled, log)
    await pump.start()
    await pump.push(2)
    await pump.finish()
    assert (log, pump.done) == ([4], True)


async def test_what_forgot_to_yield_is_refused_without_a_warning() -> None:
    async def transform(items: AsyncIterator[int]) -> None:
        async for _ in items:
            pass

    pump = pump_of(transform, [])  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match="async for"):
        await pump.start()
    assert pump.done
