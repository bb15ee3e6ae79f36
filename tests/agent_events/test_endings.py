"""How a run ends, and that nothing is left open by it."""

import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from agui_middleware.agent_events import (
    AgentEvent,
    AssistantText,
    Done,
    QueuedInput,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    TurnStart,
    TurnUsage,
    Usage,
    to_agui,
)
from tests.agent_events.loops import FINISHED, AGUIEvent, loop, nest, of_type, said, types

USED = TurnUsage(usage=Usage(model="m", input_tokens=1))
CLOSED = ["REASONING_MESSAGE_END", "REASONING_END", "TEXT_MESSAGE_END", "STEP_FINISHED"]


@pytest.mark.parametrize(
    ("status", "code"), [("refused", "AGENT_REFUSED"), ("limit", "AGENT_LIMIT"), ("error", "AGENT_ERROR")]
)
def test_done_without_success_is_a_run_error(status: Any, code: str) -> None:
    told = said(USED, Done(outcome=RunOutcome(status=status, error="because")))
    usage = [{"model": "m", "inputTokens": 1}]
    assert told == [{"type": "RUN_ERROR", "code": code, "message": "because", "usage": usage}]
    untold = said(Done(outcome=RunOutcome(status=status)))[0]
    assert untold["code"] == code
    assert untold["message"].startswith("The agent ")


def test_done_cancelled_has_the_outcome_of_that_name() -> None:
    finished = said(USED, Done(outcome=RunOutcome(status="cancelled", text="half", error="stop")))[-1]
    assert finished == {
        "type": "RUN_FINISHED",
        "threadId": "t1",
        "runId": "r1",
        "outcome": {"type": "cancelled"},
        "usage": [{"model": "m", "inputTokens": 1}],
    }


@pytest.mark.parametrize("status", ["finished", "refused", "limit", "cancelled", "error"])
def test_done_closes_what_is_open_before_the_end_of_the_run(status: Any) -> None:
    open_ = TurnStart(turn=1), TextDelta(text="a"), ThinkingDelta(text="b")
    events = said(*open_, *nest("ask", "c", *open_), Done(outcome=RunOutcome(status=status)))
    end = events[-10:]
    assert types(end) == [*CLOSED, "SUBAGENT_ERROR", *CLOSED, types(events)[-1]]
    assert [event.get("subagentRunId") for event in end] == ["r1-ask"] * 5 + [None] * 5


def test_final_text_that_was_never_said_becomes_a_message() -> None:
    events = said(Done(outcome=RunOutcome(status="refused", text="I will not.")))
    assert types(events) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_ERROR"]
    assert events[1]["delta"] == "I will not."


def test_final_text_of_a_last_turn_without_text_becomes_a_message() -> None:
    call = ToolCall(id="c", name="t", input={})
    events = said(TurnStart(turn=1), AssistantText(text="a"), TurnStart(turn=2), call, done("b"))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["a", "b"]


@pytest.mark.parametrize("text", ["a", " a", "another"])
def test_final_text_is_not_said_again_by_a_turn_that_spoke(text: str) -> None:
    events = said(TurnStart(turn=1), AssistantText(text="a"), done(text))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["a"]
    assert events[-1]["result"] == text


@pytest.mark.parametrize("text", [AssistantText(text="a"), TextDelta(text="a")])
def test_final_text_of_an_earlier_turn_is_not_said_again(text: AgentEvent) -> None:
    events = said(TurnStart(turn=1), text, TurnStart(turn=2), done("a"))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["a"]


def test_final_text_said_before_a_result_is_not_said_again_in_a_loop_without_turns() -> None:
    events = said(AssistantText(text="a"), ToolResult(id="c", name="t", content="r"), done("a"))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["a"]


def test_final_text_that_ends_a_longer_message_is_not_said_again() -> None:
    """A loop without turns may have streamed two of them into one message."""
    events = said(TextDelta(text="a"), TextDelta(text="b"), QueuedInput(text="q"), done("b"))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["a", "b", "q"]


def test_final_text_that_ends_the_open_message_is_no_contradiction(caplog: pytest.LogCaptureFixture) -> None:
    assert types(said(TextDelta(text="ab"), done("b")))[2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert caplog.records == []


def test_final_text_that_came_in_two_messages_is_not_said_again() -> None:
    said_before = TextDelta(text="a"), QueuedInput(text="q"), AssistantText(text="ab"), QueuedInput(text="q")
    events = said(*said_before, done("ab"))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["a", "q", "b", "q"]


def test_events_after_done_are_dropped_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    late = TextDelta(text="secret"), Done(outcome=RunOutcome(status="error")), *nest("ask", "c", FINISHED)
    assert types(said(FINISHED, *late)) == ["RUN_FINISHED"]
    [record] = caplog.records
    assert "TextDelta" in record.message
    assert "secret" not in record.message


def test_loop_that_just_stops_has_no_terminal_event(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "agui_middleware"):
        events = said(TextDelta(text="a"), *nest("ask", "c", TextDelta(text="b")))
    assert types(events)[-1] == "TEXT_MESSAGE_CONTENT"
    assert ["r1" in record.message for record in caplog.records] == [True]


def test_a_loop_that_always_stops_so_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        said(TextDelta(text="a"))
        said(FINISHED, TextDelta(text="late"))
        said(TextDelta(text="a"), AssistantText(text="b"), FINISHED)
    assert [vars(record)["count"] for record in caplog.records] == [1, 1, 1, 10, 10, 10]


def done(text: str) -> Done:
    return Done(outcome=RunOutcome(status="finished", text=text))


async def raising(*events: AgentEvent) -> AsyncIterator[AgentEvent]:
    async for event in loop(events):
        yield event
    raise LookupError("/etc/secret")


async def drained(events: AsyncIterator[AgentEvent], kind: type[Exception]) -> list[AGUIEvent]:
    """What came before the loop's exception, which has to come out of `to_agui`."""
    seen: list[AGUIEvent] = []
    run = to_agui(events, thread_id="t1", run_id="r1")
    with pytest.raises(kind):
        await read(run, seen)
    return seen[1:]


async def read(run: AsyncIterator[AGUIEvent], seen: list[AGUIEvent]) -> None:
    """Until it raises, if only StopAsyncIteration."""
    while True:
        seen.append(await anext(run))


async def test_loop_that_raises_ends_in_a_run_error_and_raises() -> None:
    seen = await drained(raising(TurnStart(turn=1), USED, TextDelta(text="a")), LookupError)
    assert types(seen)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]
    assert seen[-1]["code"] == "AGENT_FAILED"
    assert seen[-1]["usage"] == [{"model": "m", "inputTokens": 1}]
    assert "secret" not in str(seen)


async def test_loop_that_raises_after_success_is_an_error_behind_it() -> None:
    seen = await drained(raising(USED, FINISHED), LookupError)
    assert types(seen) == ["RUN_FINISHED", "RUN_ERROR"]
    assert "usage" not in seen[1]


async def test_loop_that_raises_after_a_run_error_says_no_more() -> None:
    seen = await drained(raising(Done(outcome=RunOutcome(status="error"))), LookupError)
    assert types(seen) == ["RUN_ERROR"]


async def test_something_that_is_no_agent_event_fails_the_run() -> None:
    wrong = cast("AgentEvent", {"type": "text_delta", "text": "a"})
    seen = await drained(loop([TextDelta(text="a"), wrong]), TypeError)
    assert types(seen)[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]


async def test_loop_is_run_to_its_end_after_done() -> None:
    ended = False

    async def saving() -> AsyncIterator[AgentEvent]:
        nonlocal ended
        yield FINISHED
        ended = True

    assert [event["type"] async for event in to_agui(saving(), thread_id="t", run_id="r")][-1] == "RUN_FINISHED"
    assert ended


async def test_closing_closes_the_loop() -> None:
    closed = False

    async def waiting() -> AsyncIterator[AgentEvent]:
        nonlocal closed
        try:
            yield TextDelta(text="a")
            yield TextDelta(text="b")
        finally:
            closed = True

    run = to_agui(waiting(), thread_id="t", run_id="r")
    assert [(await anext(run))["type"] for _ in range(2)] == ["RUN_STARTED", "TEXT_MESSAGE_START"]
    await run.aclose()
    assert closed


async def test_iterator_that_cannot_be_closed_is_read_to_its_end() -> None:
    class Events:
        def __init__(self) -> None:
            self.left: list[AgentEvent] = [FINISHED]

        def __aiter__(self) -> "Events":
            return self

        async def __anext__(self) -> AgentEvent:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop()

    run = [event["type"] async for event in to_agui(Events(), thread_id="t", run_id="r")]
    assert run == ["RUN_STARTED", "RUN_FINISHED"]


async def test_run_started_leaves_before_the_loop_is_asked() -> None:
    asked = False

    async def asking() -> AsyncIterator[AgentEvent]:
        nonlocal asked
        asked = True
        yield FINISHED

    run = to_agui(asking(), thread_id="t", run_id="r", parent_run_id="r0")
    assert await anext(run) == {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "parentRunId": "r0",
    }
    assert not asked
    await run.aclose()
