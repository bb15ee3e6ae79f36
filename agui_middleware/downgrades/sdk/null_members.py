"""Optional members that are null.

AG-UI omits what is not set, but many servers write null, and @ag-ui/client takes it for most members. A decoder with typed
fields does not: C++ ends the run, Kotlin drops the event, and a dropped START makes its content an error.
"""

from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.messages import Holder, edit_elements, edit_messages

# A null elsewhere is data (`snapshot`, `value`, `event`), or a fault of the server's that every client reports.
_OF_AN_EVENT: Final = frozenset(
    {
        "code",
        "encryptedValueType",
        "input",
        "metadata",
        "name",
        "outcome",
        "parentMessageId",
        "parentRunId",
        "protocolVersion",
        "rawEvent",
        "replace",
        "result",
        "role",
        "source",
        "subagentRunId",
        "timestamp",
        "title",
        "usage",
    }
)
_OF_A_MESSAGE: Final = frozenset(
    {"encryptedValue", "encryptedValueType", "error", "metadata", "name", "subagentRunId", "toolCalls"}
)
_OF_AN_ASSISTANT: Final = _OF_A_MESSAGE | {"content"}  # the only role whose content is optional
_OF_A_CALL: Final = frozenset({"encryptedValue", "encryptedValueType", "metadata"})
_OF_A_PART: Final = frozenset({"data", "filename", "id", "metadata", "url"})


@per_event(EVERYTHING, repeats=TOKENS)
def without_null_members(_: Context) -> Step:
    """Remove them from events, messages, tool calls and content parts."""

    def show(event: Event) -> Event:
        # One search of the bytes instead of a decoded object for each token.
        if event.raw.find(b"null") < 0:
            return event
        event = _without_nulls(event, _OF_AN_EVENT)
        return (
            edit_messages(event, message_without_nulls)
            if event.head.type in ("MESSAGES_SNAPSHOT", "RUN_STARTED")
            else event
        )

    return show


def message_without_nulls(message: JsonObject) -> JsonObject:
    """A message without the optional members that are null, its parts and tool calls included."""
    optional = _OF_AN_ASSISTANT if message.get("role") == "assistant" else _OF_A_MESSAGE
    message = _without_nulls(message, optional)
    message = edit_elements(message, "content", lambda part: _without_nulls(part, _OF_A_PART))
    return edit_elements(message, "toolCalls", lambda call: _without_nulls(call, _OF_A_CALL))


def _without_nulls(holder: Holder, optional: frozenset[str]) -> Holder:
    return holder.without(*[name for name in holder.keys() & optional if holder[name] is None])
