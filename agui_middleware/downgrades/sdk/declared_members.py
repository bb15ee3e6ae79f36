"""Members that a class of the SDK does not declare.

Java's SDK 0.0.1 reads events into classes with Jackson, which by default rejects a member that a class has no field for: the
event is lost, or the run with it. Its RUN_ERROR calls `error` what the protocol calls `message`, and its classes for state,
RAW and CUSTOM have no field for their contents.
"""

from collections.abc import Iterable
from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.messages import Holder, edit_elements, edit_messages, edit_object

_BASE: Final = frozenset({"type", "timestamp", "rawEvent"})
_OF_A_TYPE: Final = {
    "RUN_STARTED": _BASE | {"threadId", "runId"},
    "RUN_FINISHED": _BASE | {"threadId", "runId", "result"},
    "RUN_ERROR": _BASE | {"error"},
    "STEP_STARTED": _BASE | {"stepName"},
    "STEP_FINISHED": _BASE | {"stepName"},
    "TEXT_MESSAGE_START": _BASE | {"messageId", "role"},
    "TEXT_MESSAGE_CONTENT": _BASE | {"messageId", "delta"},
    "TEXT_MESSAGE_END": _BASE | {"messageId"},
    "TOOL_CALL_START": _BASE | {"toolCallId", "toolCallName", "parentMessageId"},
    "TOOL_CALL_ARGS": _BASE | {"toolCallId", "delta"},
    "TOOL_CALL_END": _BASE | {"toolCallId"},
    "TOOL_CALL_RESULT": _BASE | {"toolCallId", "messageId", "content", "role"},
    "MESSAGES_SNAPSHOT": _BASE | {"messages"},
}
_OF_A_MESSAGE: Final = frozenset({"id", "role", "content", "name"})
_OF_A_ROLE: Final = {
    "assistant": _OF_A_MESSAGE | {"toolCalls"},
    "tool": _OF_A_MESSAGE | {"toolCallId", "error"},
}
_OF_A_CALL: Final = frozenset({"id", "type", "function"})
_OF_A_FUNCTION: Final = frozenset({"name", "arguments"})
_WITHOUT_CONTENTS: Final = {
    "STATE_SNAPSHOT": "state",
    "STATE_DELTA": "state",
    "RAW": "RAW",
    "CUSTOM": "CUSTOM",
    **dict.fromkeys(
        (
            "THINKING_START",
            "THINKING_END",
            "THINKING_TEXT_MESSAGE_START",
            "THINKING_TEXT_MESSAGE_CONTENT",
            "THINKING_TEXT_MESSAGE_END",
        ),
        "reasoning",
    ),
}


@per_event(EVERYTHING, repeats=TOKENS)
def only_declared_members(context: Context) -> Step:
    """Remove undeclared members, and drop events whose contents no class has a field for."""

    def show(event: Event) -> Event | None:
        type = event.head.type
        if type in _WITHOUT_CONTENTS:
            context.lost(_WITHOUT_CONTENTS[type], "the client's class for this event has no field for its contents")
            return None
        if type == "RUN_ERROR" and "error" not in event and "message" in event:
            event = event.replace(error=event["message"])
        if type == "MESSAGES_SNAPSHOT":
            event = edit_messages(event, _message)
        return _only(event, _OF_A_TYPE.get(type, event.keys()))

    return show


def _message(message: JsonObject) -> JsonObject:
    role = message.get("role")
    message = _only(message, _OF_A_ROLE.get(role, _OF_A_MESSAGE) if isinstance(role, str) else _OF_A_MESSAGE)
    return edit_elements(message, "toolCalls", _call)


def _call(call: JsonObject) -> JsonObject:
    return edit_object(_only(call, _OF_A_CALL), "function", lambda function: _only(function, _OF_A_FUNCTION))


def _only(holder: Holder, declared: Iterable[str]) -> Holder:
    return holder.without(*(holder.keys() - set(declared)))
