"""What a run costs, in work and in memory, as it grows."""

from collections.abc import Iterable

import pytest

from agui_middleware.agent_events import (
    AgentEvent,
    AssistantText,
    Done,
    Nested,
    RunOutcome,
    TextDelta,
    ToolCall,
    ToolResult,
    TurnStart,
)
from agui_middleware.agent_events.agent import Agent
from tests.work import memory_of, work_of


def parallel(count: int) -> Iterable[AgentEvent]:
    """So many runs of one tool without ids, each two turns long, all at once."""
    yield TurnStart(turn=1)
    for number in range(count):
        yield ToolCall(id=f"c{number}", name="research", input={})
    for turn in (1, 2):
        for number in range(count):
            yield Nested(tool="research", event=TurnStart(turn=turn))
            yield Nested(tool="research", event=AssistantText(text=f"{turn} of {number}"))
    for number in range(count):
        outcome = RunOutcome(status="finished", text=f"2 of {number}")
        yield Nested(tool="research", event=Done(outcome=outcome))
    yield Done(outcome=RunOutcome(status="finished", text="all"))


def one_turn(tokens: int) -> Iterable[AgentEvent]:
    yield TurnStart(turn=1)
    for _ in range(tokens):
        yield TextDelta(text="token ")
    yield AssistantText(text="token " * tokens)


def fed(events: Iterable[AgentEvent]) -> int:
    agent = Agent("t", "r", lambda name: name)
    return sum(len(agent.feed(event)) for event in events)


def test_the_work_of_parallel_runs_without_ids_is_linear() -> None:
    """4,000 of them took 13 seconds when each event looked at all of them."""
    few, many = (list(parallel(count)) for count in (200, 1600))
    assert work_of(lambda: fed(many)) < 1.4 * 8 * work_of(lambda: fed(few))


def test_a_short_text_goes_to_the_run_that_streamed_it_also_beside_many_longer_ones() -> None:
    texts = ["x", "yy", "zzz", "wwww", "vvvvv"]
    agent = Agent("t", "r", lambda name: name)
    agent.feed(TurnStart(turn=1))
    for number, text in enumerate(texts):
        agent.feed(ToolCall(id=f"c{number}", name="research", input={}))
        agent.feed(Nested(tool="research", event=TurnStart(turn=1)))
        agent.feed(Nested(tool="research", event=TextDelta(text=text)))
    events = agent.feed(Nested(tool="research", event=AssistantText(text="x")))
    assert [event["type"] for event in events] == ["TEXT_MESSAGE_END"]


def test_a_run_that_is_ended_from_outside_leaves_no_open_call_in_the_index() -> None:
    """The second run's tool has an id that the first one had open."""
    agent = Agent("t", "r", lambda name: name)
    agent.feed(TurnStart(turn=1))
    for number in range(2):
        agent.feed(ToolCall(id=f"c{number}", name="research", input={}))
        agent.feed(Nested(tool="research", event=TurnStart(turn=1)))
        agent.feed(Nested(tool="research", event=ToolCall(id="search", name="search", input={})))
        agent.feed(ToolResult(id=f"c{number}", name="research", content="done"))
    events = agent.feed(Done(outcome=RunOutcome(status="finished", text="all")))
    assert events[-1]["type"] == "RUN_FINISHED"


def test_four_thousand_parallel_runs_are_told_apart() -> None:
    assert fed(parallel(4000)) > 4000 * 8


@pytest.mark.parametrize("tokens", [1_000, 30_000])
def test_of_a_streamed_turn_no_text_is_kept(tokens: int) -> None:
    agent = Agent("t", "r", lambda name: name)
    start, token = TurnStart(turn=1), TextDelta(text="a token of this text ")

    def stream() -> None:
        agent.feed(start)
        for _ in range(tokens):
            agent.feed(token)

    kept, _ = memory_of(stream)
    assert kept < 20_000


def test_the_work_of_a_streamed_turn_is_linear() -> None:
    few, many = (list(one_turn(tokens)) for tokens in (1_000, 8_000))
    assert work_of(lambda: fed(many)) < 1.2 * 8 * work_of(lambda: fed(few))
