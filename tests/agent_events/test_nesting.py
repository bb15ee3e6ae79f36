"""Subagents whose calls have ids."""

import pytest

from agui_middleware.agent_events import (
    AgentEvent,
    AssistantText,
    Compacted,
    Done,
    MessageDelivered,
    QueuedInput,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDenied,
    ToolResult,
    TurnStart,
)
from tests.agent_events.loops import FINISHED, nest, of_type, said, types


def call(id: str, name: str = "ask") -> ToolCall:
    return ToolCall(id=id, name=name, input={})


def result(id: str, content: str = "r", name: str = "ask", is_error: bool = False) -> ToolResult:
    return ToolResult(id=id, name=name, content=content, is_error=is_error)


@pytest.mark.parametrize(
    "event",
    [
        TurnStart(turn=1),
        ThinkingDelta(text="a"),
        TextDelta(text="a"),
        call("x"),
        ToolDenied(name="t", reason="r"),
        result("x"),
        QueuedInput(text="a"),
        MessageDelivered(id="m", from_="f"),
        Compacted(messages_before=2, messages_after=1, prompt_tokens=3),
    ],
    ids=lambda event: event.type,
)
def test_everything_of_a_subagent_is_tagged(event: AgentEvent) -> None:
    events = said(*nest("ask", "c", event))
    assert len(events) > 1
    assert {event["subagentRunId"] for event in events} == {"r1-ask"}


def test_grandchild_names_the_child_as_its_parent() -> None:
    grandchild = nest("deep", "d", TextDelta(text="x"))
    started = of_type("SUBAGENT_STARTED", said(call("c"), *nest("ask", "c", call("d", "deep"), *grandchild)))
    assert started[1] == {
        "type": "SUBAGENT_STARTED",
        "name": "deep",
        "parentSubagentRunId": "r1-ask",
        "parentToolCallId": "d",
        "parentMessageId": "r1-ask-text",
        "subagentRunId": "r1-ask-deep",
    }


def test_child_that_has_said_nothing_is_announced_before_its_grandchild() -> None:
    events = said(*nest("ask", "c", *nest("deep", "d", *nest("deeper", "e", TextDelta(text="x")))))
    assert [event["name"] for event in of_type("SUBAGENT_STARTED", events)] == ["ask", "deep", "deeper"]
    assert events[-1]["subagentRunId"] == "r1-ask-deep-deeper"


def test_child_of_a_call_that_is_not_announced_yet_is_linked_to_it() -> None:
    events = said(*nest("ask", "c", TextDelta(text="x")), call("c"))
    assert events[0]["parentToolCallId"] == of_type("TOOL_CALL_START", events)[0]["toolCallId"] == "c"
    assert "parentMessageId" not in events[0]


def test_parallel_children_of_one_tool_are_kept_apart_by_the_id() -> None:
    a, b = ([*nest("ask", id, TurnStart(turn=1), *map(piece, id * 3), FINISHED)] for id in "ab")
    events = said(call("a"), call("b"), *(event for pair in zip(a, b, strict=True) for event in pair))
    texts = {
        tag: "".join(
            event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events) if event["subagentRunId"] == tag
        )
        for tag in ("r1-ask", "r1-ask-2")
    }
    assert texts == {"r1-ask": "aaa", "r1-ask-2": "bbb"}
    assert len(of_type("SUBAGENT_FINISHED", events)) == 2


def piece(text: str) -> TextDelta:
    return TextDelta(text=text)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("refused", "AGENT_REFUSED"),
        ("limit", "AGENT_LIMIT"),
        ("cancelled", "AGENT_CANCELLED"),
        ("error", "AGENT_ERROR"),
    ],
)
def test_child_that_does_not_succeed_is_a_subagent_error(status: str, code: str) -> None:
    done = Done(outcome=RunOutcome.model_validate({"status": status, "error": "because"}))
    error = said(*nest("ask", "c", done))[-1]
    assert error == {"type": "SUBAGENT_ERROR", "code": code, "message": "because", "subagentRunId": "r1-ask"}


def test_child_without_done_is_finished_by_the_result_of_its_call() -> None:
    events = said(call("c"), *nest("ask", "c", TurnStart(turn=1), TextDelta(text="x")), result("c", "42"))
    assert types(events)[-4:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "SUBAGENT_FINISHED", "TOOL_CALL_RESULT"]
    assert events[-2]["result"] == "42"


def test_child_without_done_fails_with_the_result_of_its_call() -> None:
    error, answer = said(call("c"), *nest("ask", "c", TurnStart(turn=1)), result("c", "boom", is_error=True))[-2:]
    assert error == {
        "type": "SUBAGENT_ERROR",
        "code": "AGENT_ERROR",
        "message": "boom",
        "subagentRunId": "r1-ask",
    }
    assert "subagentRunId" not in answer


def test_result_that_is_an_empty_error_still_has_a_message() -> None:
    error = said(*nest("ask", "c", TextDelta(text="x")), result("c", "", is_error=True))[-2]
    assert error["message"]


def test_child_that_nobody_ended_fails_with_the_run() -> None:
    events = said(call("c"), *nest("ask", "c", *nest("deep", "d", TextDelta(text="x"))), FINISHED)
    errors = of_type("SUBAGENT_ERROR", events)
    assert [error["subagentRunId"] for error in errors] == ["r1-ask-deep", "r1-ask"]
    assert {error["code"] for error in errors} == {"AGENT_UNFINISHED"}


def test_grandchild_that_nobody_ended_fails_with_the_child() -> None:
    events = said(*nest("ask", "c", *nest("deep", "d", TextDelta(text="x")), FINISHED))
    assert types(events)[-3:] == ["TEXT_MESSAGE_END", "SUBAGENT_ERROR", "SUBAGENT_FINISHED"]


def test_result_after_done_ends_nothing_twice() -> None:
    events = said(call("c"), *nest("ask", "c", FINISHED), result("c"), FINISHED)
    assert types(events)[3:] == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED", "TOOL_CALL_RESULT", "RUN_FINISHED"]


def test_done_said_twice_ends_nothing_twice() -> None:
    events = said(call("c"), *nest("ask", "c", FINISHED, FINISHED), FINISHED)
    assert types(events)[3:] == ["SUBAGENT_STARTED", "SUBAGENT_FINISHED", "RUN_FINISHED"]


def test_what_a_result_overtook_is_still_the_childs() -> None:
    late = nest("ask", "c", TurnStart(turn=2), TextDelta(text="late"), FINISHED)
    events = said(call("c"), *nest("ask", "c", TurnStart(turn=1)), result("c"), *late, FINISHED)
    assert len(of_type("SUBAGENT_STARTED", events)) == len(of_type("SUBAGENT_FINISHED", events)) == 1
    assert of_type("TEXT_MESSAGE_CONTENT", events)[0]["subagentRunId"] == "r1-ask"
    assert types(events)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]


@pytest.mark.parametrize("late", [["ab"], ["b", "ab"], ["b", "abc"], ["abc"]], ids="".join)
def test_whole_text_that_a_result_overtook_is_not_said_again(late: list[str]) -> None:
    *pieces, whole = late
    streamed = nest("ask", "c", TurnStart(turn=1), TextDelta(text="ab"[: 2 - len(pieces)]))
    rest = nest("ask", "c", *map(piece, pieces), AssistantText(text=whole))
    events = said(call("c"), *streamed, result("c"), *rest)
    assert "".join(event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)) == whole


def test_what_a_result_overtook_is_closed_with_the_run() -> None:
    late = nest("ask", "c", TurnStart(turn=2), TextDelta(text="late"))
    events = said(call("c"), *nest("ask", "c", TurnStart(turn=1)), result("c"), *late, FINISHED)
    assert types(events)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_FINISHED"]


def test_run_after_a_childs_done_is_a_second_child_of_the_call() -> None:
    events = said(call("c"), *nest("ask", "c", TextDelta(text="x"), FINISHED, TextDelta(text="y"), FINISHED))
    started = of_type("SUBAGENT_STARTED", events)
    assert [event["subagentRunId"] for event in started] == ["r1-ask", "r1-ask-2"]
    assert {event["parentToolCallId"] for event in started} == {"c"}


def test_call_whose_id_the_child_uses_too_gets_another() -> None:
    inner = nest("ask", "call_1", call("call_1", "look"), result("call_1", "inner", "look"))
    events = said(call("call_1"), *inner, result("call_1", "outer"))
    assert [event["toolCallId"] for event in of_type("TOOL_CALL_START", events)] == ["call_1", "call_1-2"]
    answers = [(event["toolCallId"], event["content"]) for event in of_type("TOOL_CALL_RESULT", events)]
    assert answers == [("call_1-2", "inner"), ("call_1", "outer")]


def test_call_whose_id_is_used_again_gets_another_with_its_own_child() -> None:
    turns = [event for _ in range(2) for event in (call("c"), *nest("ask", "c", TextDelta(text="x")), result("c"))]
    events = said(*turns)
    assert [event["toolCallId"] for event in of_type("TOOL_CALL_RESULT", events)] == ["c", "c-2"]
    started = of_type("SUBAGENT_STARTED", events)
    assert [event["parentToolCallId"] for event in started] == ["c", "c-2"]
    assert len(of_type("SUBAGENT_FINISHED", events)) == 2


def test_result_that_comes_before_its_call_answers_it() -> None:
    events = said(result("c"), call("c"), call("c"))
    assert events[0]["toolCallId"] == "c"
    assert [event["toolCallId"] for event in of_type("TOOL_CALL_START", events)] == ["c", "c-2"]


def test_two_results_of_one_call_are_two_messages() -> None:
    answers = of_type("TOOL_CALL_RESULT", said(call("c"), result("c", "a"), result("c", "b")))
    assert [event["messageId"] for event in answers] == ["r1-result-c", "r1-result-c-2"]
    assert {event["toolCallId"] for event in answers} == {"c"}
