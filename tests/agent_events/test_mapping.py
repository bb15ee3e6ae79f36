"""What each of the thirteen events becomes."""

import json
import logging

import pytest

from agui_middleware.agent_events import (
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
    TurnUsage,
    Usage,
)
from tests.agent_events.loops import FINISHED, nest, of_type, said, translated, types


def test_run_starts_with_its_ids_and_the_protocol_version() -> None:
    started = {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1", "protocolVersion": "1.0"}
    assert translated() == [started]


def test_turn_start_is_a_step_that_ends_with_the_next() -> None:
    assert said(TurnStart(turn=1), TurnStart(turn=2)) == [
        {"type": "STEP_STARTED", "stepName": "turn-1"},
        {"type": "STEP_FINISHED", "stepName": "turn-1"},
        {"type": "STEP_STARTED", "stepName": "turn-2"},
    ]


def test_turn_start_may_repeat_its_number() -> None:
    assert types(said(TurnStart(turn=1), TurnStart(turn=1))) == ["STEP_STARTED", "STEP_FINISHED", "STEP_STARTED"]


def test_thinking_delta_is_reasoning_until_something_is_said() -> None:
    assert said(TurnStart(turn=1), ThinkingDelta(text="h"), ThinkingDelta(text="m"), TextDelta(text="x"))[1:-2] == [
        {"type": "REASONING_START", "messageId": "r1-turn-1-thinking"},
        {"type": "REASONING_MESSAGE_START", "messageId": "r1-turn-1-thinking", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1-turn-1-thinking", "delta": "h"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r1-turn-1-thinking", "delta": "m"},
        {"type": "REASONING_MESSAGE_END", "messageId": "r1-turn-1-thinking"},
        {"type": "REASONING_END", "messageId": "r1-turn-1-thinking"},
    ]


def test_thinking_delta_after_text_is_a_second_span_and_leaves_the_text_open() -> None:
    events = said(ThinkingDelta(text="a"), TextDelta(text="x"), ThinkingDelta(text="b"), TextDelta(text="y"))
    assert [event["messageId"] for event in of_type("REASONING_START", events)] == ["r1-thinking", "r1-thinking-2"]
    assert len(of_type("TEXT_MESSAGE_START", events)) == 1
    assert not of_type("TEXT_MESSAGE_END", events)


@pytest.mark.parametrize("close", [ToolCall(id="c", name="t", input={}), TurnStart(turn=2), AssistantText(text="")])
def test_thinking_ends_before_what_follows_it(close: ToolCall | TurnStart | AssistantText) -> None:
    assert types(said(ThinkingDelta(text="a"), close))[3:5] == ["REASONING_MESSAGE_END", "REASONING_END"]


def test_text_delta_streams_one_message_a_turn() -> None:
    assert said(TextDelta(text="a"), TextDelta(text="b")) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "r1-text", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-text", "delta": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-text", "delta": "b"},
    ]


@pytest.mark.parametrize("event", [TextDelta(text=""), ThinkingDelta(text=""), AssistantText(text="")])
def test_empty_text_says_nothing(event: TextDelta | ThinkingDelta | AssistantText) -> None:
    assert said(event) == []


def test_assistant_text_ends_the_streamed_message() -> None:
    assert said(TextDelta(text="ab"), AssistantText(text="ab"))[2:] == [
        {"type": "TEXT_MESSAGE_END", "messageId": "r1-text"}
    ]


def test_assistant_text_is_the_message_if_nothing_streamed() -> None:
    assert said(TurnStart(turn=3), AssistantText(text="ab"))[1:] == [
        {"type": "TEXT_MESSAGE_START", "messageId": "r1-turn-3-text", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-turn-3-text", "delta": "ab"},
        {"type": "TEXT_MESSAGE_END", "messageId": "r1-turn-3-text"},
    ]


def test_assistant_text_completes_what_has_not_been_streamed() -> None:
    assert said(TextDelta(text="a"), AssistantText(text="ab"))[2:] == [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-text", "delta": "b"},
        {"type": "TEXT_MESSAGE_END", "messageId": "r1-text"},
    ]


def test_assistant_text_that_contradicts_the_stream_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "agui_middleware"):
        events = said(TextDelta(text="secret"), AssistantText(text="other"))
    assert [event["delta"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["secret"]
    assert types(events)[-1] == "TEXT_MESSAGE_END"
    assert "r1-text" in caplog.text
    assert "secret" not in caplog.text


def test_assistant_text_that_agrees_is_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    said(TextDelta(text="a"), AssistantText(text="ab"), FINISHED)
    assert caplog.records == []


def test_text_after_the_whole_text_is_a_message_of_its_own() -> None:
    events = said(TurnStart(turn=1), AssistantText(text="a"), TextDelta(text="b"), ToolCall(id="c", name="t", input=1))
    starts = [event["messageId"] for event in of_type("TEXT_MESSAGE_START", events)]
    assert starts == ["r1-turn-1-text", "r1-turn-1-text-2"]
    assert of_type("TOOL_CALL_START", events)[0]["parentMessageId"] == "r1-turn-1-text-2"


def test_tool_call_has_its_input_as_arguments_and_the_turns_message_as_parent() -> None:
    call = ToolCall(id="c1", name="search", input={"q": "é", "n": [1, None, 2**80, 1.0]})
    start, args, end = said(TurnStart(turn=1), AssistantText(text="a"), call)[-3:]
    assert start == {
        "type": "TOOL_CALL_START",
        "toolCallId": "c1",
        "toolCallName": "search",
        "parentMessageId": "r1-turn-1-text",
    }
    assert args == {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": args["delta"]}
    assert json.loads(args["delta"]) == call.input
    assert end == {"type": "TOOL_CALL_END", "toolCallId": "c1"}


def test_tool_call_between_two_pieces_of_text_leaves_the_message_open() -> None:
    events = said(TextDelta(text="a"), ToolCall(id="c", name="t", input={}), TextDelta(text="b"))
    assert [event["messageId"] for event in of_type("TEXT_MESSAGE_CONTENT", events)] == ["r1-text", "r1-text"]
    assert of_type("TOOL_CALL_START", events)[0]["parentMessageId"] == "r1-text"


def test_tool_calls_before_any_text_share_the_message_that_the_text_gets() -> None:
    calls = [ToolCall(id=id, name="t", input={}) for id in "ab"]
    events = said(TurnStart(turn=1), *calls, TextDelta(text="x"))
    parents = [event["parentMessageId"] for event in of_type("TOOL_CALL_START", events)]
    assert parents == ["r1-turn-1-text", "r1-turn-1-text"]
    assert of_type("TEXT_MESSAGE_START", events)[0]["messageId"] == "r1-turn-1-text"


def test_tool_denied_is_a_custom_event() -> None:
    denied = {"type": "CUSTOM", "name": "agent.tool_denied", "value": {"name": "rm", "reason": "too sharp"}}
    assert said(ToolDenied(name="rm", reason="too sharp")) == [denied]


def test_tool_result_answers_its_call() -> None:
    events = said(ToolCall(id="c1", name="t", input={}), ToolResult(id="c1", name="t", content="42"))
    assert events[-1] == {
        "type": "TOOL_CALL_RESULT",
        "messageId": "r1-result-c1",
        "toolCallId": "c1",
        "role": "tool",
        "content": "42",
    }


def test_tool_result_that_is_an_error_is_marked_in_its_metadata() -> None:
    assert said(ToolResult(id="c1", name="t", content="boom", is_error=True))[0]["metadata"] == {"isError": True}


def test_tool_result_starts_a_new_message_in_a_loop_without_turns() -> None:
    result = ToolResult(id="c", name="t", content="42")
    events = said(TextDelta(text="a"), ToolCall(id="c", name="t", input={}), result, TextDelta(text="b"))
    assert [event["messageId"] for event in of_type("TEXT_MESSAGE_START", events)] == ["r1-text", "r1-text-2"]


def test_assistant_text_after_a_result_is_not_said_again_in_a_loop_without_turns() -> None:
    result = ToolResult(id="c", name="t", content="42")
    events = said(TextDelta(text="a"), result, AssistantText(text="a"), AssistantText(text="a"))
    assert len(of_type("TEXT_MESSAGE_CONTENT", events)) == 2


def test_assistant_text_of_the_next_turn_is_said_if_it_is_the_same() -> None:
    events = said(TurnStart(turn=1), TextDelta(text="a"), TurnStart(turn=2), AssistantText(text="a"))
    assert len(of_type("TEXT_MESSAGE_CONTENT", events)) == 2


def test_tool_result_within_an_announced_turn_leaves_the_message_open() -> None:
    """A tool may be run while the model still streams."""
    result = ToolResult(id="c", name="t", content="42")
    events = said(TurnStart(turn=1), TextDelta(text="a"), result, TextDelta(text="b"))
    assert len(of_type("TEXT_MESSAGE_START", events)) == 1


def test_turn_usage_is_told_with_the_terminal_event() -> None:
    used = TurnUsage(usage=Usage(provider="p", model="m", input_tokens=2, output_tokens=3))
    finished = said(used, used, FINISHED)[-1]
    total = {"provider": "p", "model": "m", "inputTokens": 4, "outputTokens": 6, "totalTokens": 10}
    assert finished["usage"] == [total]


def test_queued_input_is_a_message_of_the_user() -> None:
    assert said(QueuedInput(text="wait")) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "r1-queued", "role": "user"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-queued", "delta": "wait"},
        {"type": "TEXT_MESSAGE_END", "messageId": "r1-queued"},
    ]


def test_queued_input_without_text_has_no_content() -> None:
    assert types(said(QueuedInput(text=""))) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END"]


def test_message_delivered_is_an_activity_at_its_place() -> None:
    assert said(MessageDelivered(id="m7", from_="bob")) == [
        {
            "type": "ACTIVITY_SNAPSHOT",
            "messageId": "r1-message-m7",
            "activityType": "agent.message_delivered",
            "content": {"id": "m7", "from": "bob"},
        }
    ]


@pytest.mark.parametrize("entry", [QueuedInput(text="wait"), MessageDelivered(id="m", from_="bob")])
def test_entry_ends_the_message_of_a_loop_without_turns(entry: QueuedInput | MessageDelivered) -> None:
    events = said(TextDelta(text="a"), entry, TextDelta(text="b"))
    assert types(events)[:3] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert types(events)[-2:] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]


def test_compacted_is_a_custom_event() -> None:
    value = {"messagesBefore": 9, "messagesAfter": 2, "promptTokens": 100}
    compacted = {"type": "CUSTOM", "name": "agent.compacted", "value": value}
    assert said(Compacted(messages_before=9, messages_after=2, prompt_tokens=100)) == [compacted]


def test_done_closes_all_that_is_open_and_finishes_the_run() -> None:
    done = Done(outcome=RunOutcome(status="finished", text="ab"))
    assert said(TurnStart(turn=1), TextDelta(text="a"), done)[3:] == [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-turn-1-text", "delta": "b"},
        {"type": "TEXT_MESSAGE_END", "messageId": "r1-turn-1-text"},
        {"type": "STEP_FINISHED", "stepName": "turn-1"},
        {
            "type": "RUN_FINISHED",
            "threadId": "t1",
            "runId": "r1",
            "result": "ab",
            "outcome": {"type": "success"},
        },
    ]


def test_nested_is_announced_tagged_and_finished() -> None:
    call = ToolCall(id="c1", name="ask", input={})
    done = Done(outcome=RunOutcome(status="finished", text="x"))
    assert said(call, *nest("ask", "c1", TurnStart(turn=1), TextDelta(text="x"), done))[3:] == [
        {
            "type": "SUBAGENT_STARTED",
            "name": "ask",
            "parentToolCallId": "c1",
            "parentMessageId": "r1-text",
            "subagentRunId": "r1-ask",
        },
        {"type": "STEP_STARTED", "stepName": "turn-1", "subagentRunId": "r1-ask"},
        {
            "type": "TEXT_MESSAGE_START",
            "messageId": "r1-ask-turn-1-text",
            "role": "assistant",
            "subagentRunId": "r1-ask",
        },
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "r1-ask-turn-1-text", "delta": "x", "subagentRunId": "r1-ask"},
        {"type": "TEXT_MESSAGE_END", "messageId": "r1-ask-turn-1-text", "subagentRunId": "r1-ask"},
        {"type": "STEP_FINISHED", "stepName": "turn-1", "subagentRunId": "r1-ask"},
        {
            "type": "SUBAGENT_FINISHED",
            "result": "x",
            "outcome": {"type": "success"},
            "subagentRunId": "r1-ask",
        },
    ]
