import pytest
from pydantic import TypeAdapter, ValidationError

from agui_middleware.agent_events import (
    AgentEvent,
    AgentEventAdapter,
    AssistantText,
    Compacted,
    Done,
    MessageDelivered,
    Nested,
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

USAGE = Usage(
    provider="p",
    model="m",
    input_tokens=5,
    output_tokens=4,
    total_tokens=9,
    reasoning_tokens=3,
    cached_input_tokens=2,
    cache_write_input_tokens=1,
)
EVENTS: dict[str, AgentEvent] = {
    "turn_start": TurnStart(turn=1),
    "thinking_delta": ThinkingDelta(text="hm"),
    "text_delta": TextDelta(text="a\n\nb\u2028"),
    "assistant_text": AssistantText(text=""),
    "tool_call": ToolCall(id="c", name="t", input={"big": 2**80, "float": 1.0, "deep": [None, True, {"": "é"}]}),
    "tool_denied": ToolDenied(name="t", reason="no"),
    "tool_result": ToolResult(id="c", name="t", is_error=True, content="boom"),
    "turn_usage": TurnUsage(usage=USAGE),
    "queued_input": QueuedInput(text="wait"),
    "message_delivered": MessageDelivered(id="m", from_="bob"),
    "compacted": Compacted(messages_before=9, messages_after=2, prompt_tokens=100),
    "done": Done(outcome=RunOutcome(status="error", text="t", usage=USAGE, error="e")),
    "nested": Nested(tool="t", id="c", event=Nested(tool="u", event=MessageDelivered(id="m", from_="bob"))),
}


@pytest.mark.parametrize("name", EVENTS)
def test_event_survives_json(name: str) -> None:
    event = EVENTS[name]
    assert event.type == name
    assert AgentEventAdapter.validate_json(event.model_dump_json()) == event
    assert AgentEventAdapter.validate_json(AgentEventAdapter.dump_json(event)) == event
    assert AgentEventAdapter.validate_python(event.model_dump()) == event


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_event_is_immutable(event: AgentEvent) -> None:
    field = list(type(event).model_fields)[-1]
    with pytest.raises(ValidationError, match="frozen"):
        setattr(event, field, None)


def test_message_delivered_is_written_as_from() -> None:
    assert MessageDelivered(id="m", from_="bob").model_dump() == {"type": "message_delivered", "id": "m", "from": "bob"}


def test_unknown_type_is_refused_by_the_discriminator() -> None:
    with pytest.raises(ValidationError, match="union_tag_invalid"):
        AgentEventAdapter.validate_python({"type": "turn_begin", "turn": 1})


def test_misspelt_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="extra_forbidden"):
        AgentEventAdapter.validate_python({"type": "text_delta", "text": "a", "txt": "b"})


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_input_without_a_json_form_is_refused(number: float) -> None:
    with pytest.raises(ValidationError, match="finite_number"):
        ToolCall(id="c", name="t", input={"n": number})


@pytest.mark.parametrize("count", [-1, 2**53])
def test_count_outside_of_what_clients_read_exactly_is_refused(count: int) -> None:
    with pytest.raises(ValidationError):
        Usage(input_tokens=count)


def test_outcome_has_no_status_by_default() -> None:
    """A forgotten status must not read as success."""
    with pytest.raises(ValidationError, match="missing"):
        RunOutcome.model_validate({"text": "done"})


def test_nested_run_has_a_json_schema() -> None:
    schema = TypeAdapter(AgentEvent).json_schema()
    assert sorted(schema["discriminator"]["mapping"]) == sorted(EVENTS)
