"""A filter that declares `INPUT_ECHO` is not started for a RUN_STARTED without `input`, and misses none that has one."""

import pytest

from agui_middleware import ClientVersion, Context, Event
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.declared import INPUT_ECHO, Step, handles, per_event
from agui_middleware.stream.chain import Chain

BARE = Event(type="RUN_STARTED", threadId="t", runId="r")
ECHOING = BARE.replace(input={"messages": []})
ESCAPED = Event.parse(rb'{"type":"RUN_STARTED","threadId":"t","runId":"r","\u0069nput":{"messages":[]}}')


class Started:
    """Whether a filter was started, and a filter that marks what it is given."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, _: Context) -> Step:
        self.times += 1
        return lambda event: event.replace(seen=True)


def push(event: Event, *filters: Filter, foreign: int | None = 0) -> list[Event]:
    out: list[Event] = []
    chain = Chain(Composition(filters, foreign), Context(), out.append)
    chain.push(event)
    chain.finish()
    chain.close()
    return out


@per_event("RUN_STARTED")
def echoes(_: Context) -> Step:
    return lambda event: event.replace(input={"messages": []})


def test_without_an_echo_it_is_not_started() -> None:
    started = Started()
    assert push(BARE, per_event(INPUT_ECHO)(started)) == [BARE]
    assert started.times == 0


@pytest.mark.parametrize("event", [ECHOING, ESCAPED])
def test_it_is_given_every_echo(event: Event) -> None:
    [left] = push(event, per_event(INPUT_ECHO)(Started()))
    assert left["seen"]


def test_a_filter_that_wants_run_started_too_is_given_all() -> None:
    [left] = push(BARE, per_event(INPUT_ECHO, "RUN_STARTED")(Started()))
    assert left["seen"]


def test_an_operators_filter_may_put_one_in() -> None:
    [left] = push(BARE, echoes, per_event(INPUT_ECHO)(Started()), foreign=1)
    assert left["seen"]
    [left] = push(BARE, echoes, per_event(INPUT_ECHO)(Started()), foreign=None)
    assert left["seen"]


def test_a_filter_of_an_echo_is_any_other_to_code_that_calls_it() -> None:
    declared = handles(INPUT_ECHO)
    assert "RUN_STARTED" in declared(lambda events, context: events).handled
    assert INPUT_ECHO not in declared(lambda events, context: events).handled.named


def test_most_rows_of_an_old_client_are_not_started_for_an_agent_that_echoes_nothing() -> None:
    composition = make_plan(ClientVersion.parse("0.0.36")).composition
    visited = [table["RUN_STARTED"] for table in composition.next[:-1]]
    without = [table["RUN_STARTED"] for table in composition.next_without_echo[:-1]]
    assert len(set(without)) < len(set(visited)) / 1.5
