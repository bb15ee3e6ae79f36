from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from ag_ui.core import CustomEvent

from agui_middleware.filters import EVERYTHING, Context, Filter, handles
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.filters.source import (
    EventSource,
    report_endless_filter,
    report_failed_close,
    report_late_yield,
)
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.stream.chain import Chain
from agui_middleware.stream.drive import run_filters
from agui_middleware.stream.pumps import Pumps
from tests.conftest import Run

Events = AsyncIterator[Event]
Log = list[Any]
FILTER_ERROR = "RUN_ERROR AGUI_FILTER_ERROR"


class Driven:
    """Filters, those that may await on pumps, and what has left them: an event as its type, RUN_ERROR with its code."""

    def __init__(self, *filters: Filter) -> None:
        self.log: Log = []
        composition, context = Composition(filters), Context()
        self.chain = Chain(composition, context, lambda event: self.log.append(named(event)))
        self.pumps = Pumps(composition.awaiting, context, self.chain, self._flush)

    async def _flush(self) -> None:
        pass

    async def start(self) -> None:
        await self.pumps.start()

    async def push(self, *types: str) -> None:
        for type in types:
            if not self.pumps.ended:
                await self.pumps.push(Event(type=type))

    async def finish(self) -> None:
        if not self.pumps.ended:
            await self.pumps.finish()

    async def close(self) -> None:
        await self.pumps.close()
        self.chain.close()

    async def run(self, *types: str) -> Log:
        """All of a stream: start, the events, the end."""
        await self.start()
        await self.push(*types)
        await self.finish()
        await self.close()
        return self.log


def named(event: Event) -> str:
    return f"RUN_ERROR {event['code']}" if event.type == "RUN_ERROR" else event.type


def marks(mark: str) -> Filter:
    """Appends its mark to each type, and says when it has read the end."""

    async def filter(events: Events, _: Context) -> Events:
        async for event in events:
            yield event.replace(type=event.type + mark)
        yield Event(type=f"end of {mark}")

    return filter


def reads(log: Log) -> Filter:
    """Lets all pass, and notes what it reads."""

    async def filter(events: Events, _: Context) -> Events:
        try:
            async for event in events:
                log.append(named(event))
                yield event
            log.append("end")
        finally:
            log.append("finally")

    return filter


def fails_on(type: str, error: Callable[[], Exception] = ZeroDivisionError) -> Filter:
    async def filter(events: Events, _: Context) -> Events:
        async for event in events:
            if event.type == type:
                raise error()
            yield event

    return filter


def returns_on_b() -> Filter:
    async def filter(events: Events, _: Context) -> Events:
        async for event in events:
            if event.type == "B":
                return
            yield event

    return filter


async def passes(events: Events, _: Context) -> Events:
    async for event in events:
        yield event


async def test_without_filters_events_pass() -> None:
    driven = Driven()
    assert await driven.run("A", "B") == ["A", "B"]
    assert not driven.chain.failure


async def test_filters_run_in_order_and_each_event_leaves_before_the_next_is_read() -> None:
    driven = Driven(marks("1"), marks("2"))
    await driven.start()
    await driven.push("A")
    assert driven.log == ["A12"]
    await driven.push("B")
    assert driven.log == ["A12", "B12"]
    await driven.finish()
    assert driven.log == ["A12", "B12", "end of 12", "end of 2"]
    assert driven.pumps.ended


async def test_a_filter_may_drop_split_and_hold_back() -> None:
    async def filter(events: Events, _: Context) -> Events:
        held = []
        async for event in events:
            if event.type == "hold":
                held.append(event)
            elif event.type == "split":
                yield Event(type="first")
                yield Event(type="second")
            elif event.type != "drop":
                yield event
        for event in held:
            yield event

    assert await Driven(filter, marks("!")).run("A", "drop", "hold", "split", "B") == [
        *("A!", "first!", "second!", "B!", "hold!", "end of !"),
    ]


async def test_a_filter_may_yield_mappings_and_models() -> None:
    async def filter(events: Events, _: Context) -> AsyncIterator[Any]:
        async for event in events:
            yield {"type": "MAPPING", "n": 1}
            yield CustomEvent(name="x", value=None)
            yield event

    assert await Driven(filter, marks("!")).run("A") == ["MAPPING!", "CUSTOM!", "A!", "end of !"]
    assert await Driven(filter).run("A") == ["MAPPING", "CUSTOM", "A"]


async def test_a_filter_may_yield_before_its_first_event() -> None:
    """The filters behind it start with what it yields, and only once."""

    async def filter(events: Events, _: Context) -> Events:
        yield Event(type="before")
        async for event in events:
            yield event

    async def counts(events: Events, _: Context) -> Events:
        count = 0
        async for event in events:
            count += 1
            yield event.replace(type=f"{event.type}{count}")

    driven = Driven(filter, counts, marks("!"))
    await driven.start()
    assert driven.log == ["before1!"]
    await driven.push("A")
    assert driven.log == ["before1!", "A2!"]
    await driven.close()


async def test_filters_share_the_context_and_state_is_local() -> None:
    seen = []

    async def counts(events: Events, context: Context) -> Events:
        seen.append(context)
        count = 0
        async for event in events:
            count += 1
            yield event.replace(type=f"{event.type}{count}")

    both = [Driven(counts, counts), Driven(counts, counts)]
    for driven in both:
        await driven.start()
    for driven in both:
        await driven.push("A")
        await driven.close()
        assert driven.log == ["A11"]
    assert seen[0] is seen[1] is not seen[2]


# The types that a filter declares.


async def test_events_that_a_filter_does_not_touch_pass_it_by() -> None:
    log: Log = []
    driven = Driven(handles("A", "CUSTOM")(reads(log)))
    assert await driven.run("A", "B", "RAW", "CUSTOM", "x") == ["A", "B", "RAW", "CUSTOM", "x"]
    assert log == ["A", "CUSTOM", "end", "finally"]


async def test_a_filter_of_everything_but_some_types() -> None:
    log: Log = []
    driven = Driven(handles(EVERYTHING, except_=frozenset({"B", "RAW"}))(reads(log)))
    assert await driven.run("A", "B", "RAW", "x") == ["A", "B", "RAW", "x"]
    assert log == ["A", "x", "end", "finally"]


async def test_a_filter_none_of_whose_types_comes_never_starts() -> None:
    log: Log = []
    driven = Driven(handles("C")(reads(log)), handles()(reads(log)))
    assert await driven.run("A", "B") == ["A", "B"]
    assert log == []


async def test_each_event_visits_the_filters_of_its_type_in_order() -> None:
    def mark(text: str, *types: str, except_: frozenset[str] = frozenset()) -> Filter:
        async def filter(events: Events, _: Context) -> Events:
            async for event in events:
                yield event.replace(seen=event.get("seen", "") + text)

        return handles(*types, except_=except_)(filter) if types else filter

    filters = [
        mark("1", "A"),
        mark("2", "A", "B"),
        mark("3"),
        mark("4", EVERYTHING, except_=frozenset("A")),
        mark("5", "x"),
    ]
    types = ("A", "B", "RAW", "x", "y")
    left = await run_filters([Event(type=type) for type in types], Composition(filters), Context())
    seen = {event.type: event["seen"] for out in left for event in out}
    assert seen == {"A": "123", "B": "234", "RAW": "34", "x": "345", "y": "34"}


async def test_a_changed_type_visits_the_filters_of_the_new_one() -> None:
    async def filter(events: Events, _: Context) -> Events:
        async for event in events:
            yield event.replace(type="B")

    log: Log = []
    driven = Driven(handles("B")(reads(log)), handles("A")(filter), handles("B")(reads(log)))
    assert await driven.run("A") == ["B"]
    assert log == ["B", "end", "finally"]


def test_filters_up_to_the_last_that_declares_nothing_may_await() -> None:
    declared, other = handles("A")(marks("1")), marks("2")
    for filters, awaiting in (((), 0), ((declared, declared), 0), ((declared, other), 2), ((other, declared), 1)):
        composition = Composition(filters)
        assert composition.awaiting == filters[:awaiting]
        assert composition.declared == filters[awaiting:]


# Filters of the package's own, at less than a generator's cost.


def dropping(type: str, log: Log) -> Filter:
    @per_event(EVERYTHING)
    def filter(_: Context) -> Step:
        def pass_on(event: Event) -> Event | None:
            log.append(event.type)
            return None if event.type == type else event.replace(seen=True)

        return pass_on

    return filter


async def test_a_filter_may_be_called_for_each_event() -> None:
    before: Log = []
    between: Log = []
    after: Log = []
    driven = Driven(dropping("A", before), marks("!"), dropping("B!", between), dropping("x", after))
    assert await driven.run("A", "B", "C") == ["C!", "end of !"]
    assert (before, between, after) == (["A", "B", "C"], ["B!", "C!", "end of !"], ["C!", "end of !"])


async def test_a_filter_that_is_called_has_state_of_its_own_for_each_response() -> None:
    @per_event("A")
    def counting(_: Context) -> Step:
        count = 0

        def pass_on(event: Event) -> Event:
            nonlocal count
            count += 1
            return event.replace(type=f"A{count}")

        return pass_on

    for _ in range(2):
        assert await Driven(counting).run("A", "B", "A") == ["A1", "B", "A2"]


async def test_a_filter_that_is_called_and_raises_ends_the_run() -> None:
    @per_event("A", "B")
    def fails(_: Context) -> Step:
        def pass_on(event: Event) -> Event:
            if event.type == "B":
                raise ZeroDivisionError
            return event

        return pass_on

    for filters in ([fails], [passes, fails], [fails, marks("!")]):
        driven = Driven(*filters)
        assert await driven.run("A", "B", "A") in (["A", FILTER_ERROR], ["A!", "RUN_ERROR!", "end of !"])
        assert isinstance(driven.chain.failure, ZeroDivisionError)


async def test_a_filter_that_is_called_is_a_filter_like_any_other() -> None:
    log: Log = []
    given = [Event(type="A"), Event(type="B")]

    async def events() -> Events:
        for event in given:
            yield event

    assert [event.type async for event in dropping("A", log)(events(), Context())] == ["B"]
    assert log == ["A", "B"]


async def test_a_filter_is_not_given_what_it_skips() -> None:
    log: Log = []

    @handles("A", "B")
    async def filter(events: EventSource, _: Context) -> Events:
        events.skipped = {"A"}
        async for event in events:
            log.append(event.type)
            events.skipped = {"A"} if len(log) > 1 else set()
            yield event

    driven = Driven(filter, handles(EVERYTHING)(marks("!")))
    assert await driven.run("A", "B", "A", "A", "C") == ["A!", "B!", "A!", "A!", "C!", "end of !"]
    assert log == ["B", "A"]


async def test_a_declared_filter_that_awaits_has_raised_and_is_unwound() -> None:
    log: Log = []

    @handles("B")
    async def filter(events: Events, _: Context) -> Events:
        try:
            async for event in events:
                await anyio.lowlevel.checkpoint()
                yield event
        finally:
            log.append("finally")

    driven = Driven(filter)
    assert await driven.run("A", "B", "C") == ["A", FILTER_ERROR]
    assert "awaited something" in str(driven.chain.failure)
    assert log == ["finally"]


# What ends early.


async def test_behind_a_filter_that_raises_the_others_read_run_error_and_the_end() -> None:
    before: Log = []
    after: Log = []
    driven = Driven(reads(before), fails_on("B"), reads(after), marks("!"))
    await driven.start()
    await driven.push("A", "B", "C")
    assert driven.log == ["A!", "RUN_ERROR!", "end of !"]
    assert isinstance(driven.chain.failure, ZeroDivisionError)
    assert driven.pumps.ended
    await driven.finish()
    await driven.close()
    assert before == ["A", "B", "finally"]
    assert after == ["A", FILTER_ERROR, "end", "finally"]


async def test_a_malformed_event_found_by_a_filter_has_its_own_code() -> None:
    assert await Driven(fails_on("A", lambda: MalformedEvent("x"))).run("A") == ["RUN_ERROR AGUI_MALFORMED_EVENT"]


async def test_a_filter_that_raises_at_its_start() -> None:
    async def filter(events: Events, _: Context) -> Events:
        raise ZeroDivisionError
        yield  # type: ignore[unreachable]  # makes it a generator

    log: Log = []
    driven = Driven(filter, reads(log))
    assert await driven.run("A") == [FILTER_ERROR]
    assert log == [FILTER_ERROR, "end", "finally"]


async def test_a_declared_filter_that_raises_at_its_start() -> None:
    @handles("B")
    async def filter(events: Events, _: Context) -> Events:
        raise ZeroDivisionError
        yield  # type: ignore[unreachable]  # makes it a generator

    assert await Driven(filter).run("A", "B", "C") == ["A", FILTER_ERROR]


async def test_a_filter_that_raises_at_its_end() -> None:
    async def filter(events: Events, _: Context) -> Events:
        async for event in events:
            yield event
        raise ZeroDivisionError

    driven = Driven(filter, marks("!"))
    assert await driven.run("A") == ["A!", "RUN_ERROR!", "end of !"]
    assert isinstance(driven.chain.failure, ZeroDivisionError)


async def test_a_declared_filter_that_raises_at_its_end_has_those_behind_it_read_run_error() -> None:
    log: Log = []

    @handles("A")
    async def filter(events: Events, _: Context) -> Events:
        async for event in events:
            yield event
        raise ZeroDivisionError

    driven = Driven(filter, handles(EVERYTHING)(reads(log)))
    assert await driven.run("A") == ["A", FILTER_ERROR]
    assert log == ["A", FILTER_ERROR, "end", "finally"]


async def test_a_filter_that_returns_while_those_behind_it_fail() -> None:
    @handles("A")
    async def yields_and_returns(events: Events, _: Context) -> Events:
        async for event in events:
            yield event
            return

    assert await Driven(yields_and_returns, handles("A")(fails_on("A"))).run("A", "B") == [FILTER_ERROR]


async def test_the_first_failure_is_the_one_that_is_told() -> None:
    driven = Driven(fails_on("B"), fails_on("RUN_ERROR", KeyError), marks("!"))
    assert await driven.run("A", "B") == ["A!", "RUN_ERROR!", "end of !"]
    assert isinstance(driven.chain.failure, ZeroDivisionError)


async def test_behind_a_filter_that_returns_the_others_read_the_end() -> None:
    before: Log = []
    after: Log = []
    driven = Driven(reads(before), returns_on_b(), reads(after))
    await driven.start()
    await driven.push("A")
    assert not driven.pumps.ended
    await driven.push("B", "C")
    assert (driven.log, driven.pumps.ended, driven.chain.failure) == (["A"], True, None)
    await driven.close()
    assert before == ["A", "B", "finally"]
    assert after == ["A", "end", "finally"]


async def test_a_declared_filter_that_returns_ends_the_chain() -> None:
    driven = Driven(handles("B")(returns_on_b()), passes)
    assert await driven.run("A", "B", "A") == ["A"]


async def test_a_filter_that_yields_what_is_no_event_has_raised() -> None:
    async def filter(events: Events, _: Context) -> AsyncIterator[Any]:
        async for event in events:
            yield event
            yield "garbage"

    for filters in ([filter], [filter, passes]):
        driven = Driven(*filters)
        assert await driven.run("A", "B") == ["A", FILTER_ERROR]
        assert isinstance(driven.chain.failure, TypeError)


async def test_fail_has_all_filters_read_run_error_and_the_end() -> None:
    log: Log = []
    driven = Driven(reads(log), handles("RUN_ERROR")(marks("!")), handles("C")(reads(log)))
    await driven.start()
    await driven.push("A")
    await driven.pumps.fail(MalformedEvent("x"))
    await driven.push("B")
    assert driven.log == ["A", "RUN_ERROR!", "end of !"]
    assert log == ["A", "RUN_ERROR AGUI_MALFORMED_EVENT", "end", "finally"]
    assert isinstance(driven.chain.failure, MalformedEvent)


async def test_fail_without_filters() -> None:
    driven = Driven()
    await driven.pumps.fail(ZeroDivisionError())
    assert driven.log == [FILTER_ERROR]
    assert driven.pumps.ended


# Unwinding.


async def test_close_unwinds_all_in_order_whatever_they_raise(caplog: pytest.LogCaptureFixture) -> None:
    log: Log = []

    def raises_in_finally(name: str) -> Filter:
        async def filter(events: Events, _: Context) -> Events:
            try:
                async for event in events:
                    yield event
            finally:
                log.append(name)
                raise ZeroDivisionError(name)

        return filter

    driven = Driven(raises_in_finally("first"), raises_in_finally("second"), reads(log))
    await driven.start()
    await driven.close()
    assert log == ["first", "second", "finally"]
    assert caplog.messages == ["a filter raised while it was being closed"]  # the second is counted
    await driven.close()
    assert len(log) == 3


async def test_close_unwinds_declared_filters_too_whatever_they_raise(caplog: pytest.LogCaptureFixture) -> None:
    log: Log = []

    @handles("A")
    async def raises_in_finally(events: Events, _: Context) -> Events:
        try:
            async for event in events:
                yield event
        finally:
            raise ZeroDivisionError

    driven = Driven(raises_in_finally, handles("A")(reads(log)))
    await driven.push("A")
    await driven.close()
    assert log == ["A", "finally"]
    assert caplog.messages == ["a filter raised while it was being closed"]


def test_close_unwinds_all_also_where_it_is_cancelled_meanwhile(run: Run) -> None:
    async def scenario() -> None:
        log: Log = []

        async def awaits_in_finally(events: Events, _: Context) -> Events:
            try:
                async for event in events:
                    yield event
            finally:
                log.append("awaits")
                await anyio.lowlevel.checkpoint()
                log.append("never")

        driven = Driven(awaits_in_finally, awaits_in_finally, reads(log))
        await driven.start()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await driven.close()
        assert scope.cancelled_caught
        assert log == ["awaits", "awaits", "finally"]

    run(scenario)


async def test_what_is_no_exception_passes_through_all_filters_and_is_not_their_failure() -> None:
    log: Log = []

    class Gone(BaseException):
        pass

    def emit(_: Event) -> None:
        raise Gone

    composition, context = Composition([reads(log), reads(log)]), Context()
    chain = Chain(composition, context, emit)
    pumps = Pumps(composition.awaiting, context, chain, Driven()._flush)
    await pumps.start()
    with pytest.raises(Gone):
        await pumps.push(Event(type="A"))
    assert chain.failure is None
    await pumps.push(Event(type="B"))  # is dropped
    await pumps.close()
    assert log == ["A", "A", "finally", "finally"]


def test_records_that_a_client_can_cause_are_rate_limited(caplog: pytest.LogCaptureFixture) -> None:
    for report in (report_late_yield, report_endless_filter, lambda: report_failed_close(ValueError())):
        caplog.clear()
        for _ in range(100):
            report()
        assert [vars(record)["count"] for record in caplog.records] == [1, 10, 100]


def test_a_closed_chain_emits_nothing() -> None:
    emitted: list[Event] = []
    chain = Chain(Composition([]), Context(), emitted.append)
    chain.close()
    chain.push(Event(type="A"))
    chain.leave(Event(type="A"))
    assert (emitted, chain.ended) == ([], True)
