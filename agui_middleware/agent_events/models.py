"""The events of an agent loop: thirteen kinds, the tokens that a model counted, and the outcome of a run.

All are immutable and survive a round trip through JSON; `AgentEventAdapter` reads one from its JSON or from a mapping. A
lone surrogate (a token that ends between the two halves of an emoji) is a legal Python string and passes through
`to_agui`, but pydantic cannot serialise it to JSON.
"""

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

MAX_COUNT = 2**53 - 1
"""The largest count that a JavaScript client reads exactly, and the bound of every count in AG-UI."""

Count: TypeAlias = Annotated[int, Field(ge=0, le=MAX_COUNT)]


class Model(BaseModel):
    # NaN and the infinities have no JSON form. They are rejected here, where the traceback still names the loop.
    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class Usage(Model):
    """Tokens of one provider and model, counted as AG-UI's TokenUsage counts them.

    `input_tokens` and `output_tokens` are totals, `total_tokens` is their sum. `cached_input_tokens` and
    `cache_write_input_tokens` are parts of the input, `reasoning_tokens` is a part of the output; a provider that
    reports a part beside its total has it added in by the loop. None is "not known", which is not 0.
    """

    provider: str | None = None
    model: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None


class RunOutcome(Model):
    """The outcome of a run.

    `status`: `finished`, nothing was left to do; `refused`, the model declined; `limit`, a bound on turns, tokens,
    time or cost was reached; `cancelled`, stopped from outside; `error`, it failed.
    `text` is the final text, also where it has been streamed. `usage` counts the tokens of all turns of the run,
    without its nested runs. `error` is the reason of a failure; the user sees it.
    """

    status: Literal["finished", "refused", "limit", "cancelled", "error"]
    text: str | None = None
    usage: Usage | None = None
    error: str | None = None


class TurnStart(Model):
    """A model turn begins."""

    type: Literal["turn_start"] = "turn_start"
    turn: int


class ThinkingDelta(Model):
    """A piece of the model's thinking."""

    type: Literal["thinking_delta"] = "thinking_delta"
    text: str


class TextDelta(Model):
    """A piece of the assistant's text."""

    type: Literal["text_delta"] = "text_delta"
    text: str


class AssistantText(Model):
    """The whole text of this turn, sent when the text has ended, also where it was streamed before."""

    type: Literal["assistant_text"] = "assistant_text"
    text: str


class ToolCall(Model):
    """The model asked for a tool."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: JsonValue


class ToolDenied(Model):
    """A call was refused. This is not its result: the model still needs a ToolResult."""

    type: Literal["tool_denied"] = "tool_denied"
    name: str
    reason: str


class ToolResult(Model):
    """A tool answered the call `id`."""

    type: Literal["tool_result"] = "tool_result"
    id: str
    name: str
    is_error: bool = False
    content: str


class TurnUsage(Model):
    """The tokens of one turn."""

    type: Literal["turn_usage"] = "turn_usage"
    usage: Usage


class QueuedInput(Model):
    """Text that the user queued during the run has just entered the conversation."""

    type: Literal["queued_input"] = "queued_input"
    text: str


class MessageDelivered(Model):
    """The message `id` of another agent has just entered the conversation."""

    type: Literal["message_delivered"] = "message_delivered"
    id: str
    # Not `alias`: type checkers would make it the parameter's name, and `from` is a keyword.
    from_: str = Field(validation_alias="from", serialization_alias="from")


class Compacted(Model):
    """The transcript was summarised to fit the context window, which now holds `prompt_tokens`."""

    type: Literal["compacted"] = "compacted"
    messages_before: Count
    messages_after: Count
    prompt_tokens: Count


class Done(Model):
    """The run is over. None of its events follow."""

    type: Literal["done"] = "done"
    outcome: RunOutcome


class Nested(Model):
    """An event of a run inside a tool call, passed on by the run that called the tool.

    `tool` is the tool's name and `id` the id of the call, both as in the calling run; `event` is the inner run's own. The
    events of a run inside the inner run are wrapped twice.
    """

    type: Literal["nested"] = "nested"
    tool: str
    id: str | None = None
    event: "AgentEvent"


AgentEvent: TypeAlias = Annotated[
    TurnStart
    | ThinkingDelta
    | TextDelta
    | AssistantText
    | ToolCall
    | ToolDenied
    | ToolResult
    | TurnUsage
    | QueuedInput
    | MessageDelivered
    | Compacted
    | Done
    | Nested,
    Field(discriminator="type"),
]

Nested.model_rebuild()

AgentEventAdapter: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent)
"""Reads (`validate_json`, `validate_python`) and writes (`dump_json`) any of the thirteen."""
