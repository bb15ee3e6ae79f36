"""Where an event carries text, and the masking of all of it.

What a client goes by stays: ids, types, roles, names, and what is opaque. All else is text. A payload is any JSON: what
matches in it is replaced in every string and every number. Member names stay, since JSON patches address them.
"""

import operator
from collections.abc import Callable
from typing import Any, Final, TypeVar

from msgspec import Raw

from agui_middleware.filters.masking import Mask
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.json_object import decode, encode

Holder = TypeVar("Holder", bound=JsonObject)

_STRUCTURE: Final = frozenset(
    {
        "type",
        "id",
        "messageId",
        "toolCallId",
        "parentMessageId",
        "parentToolCallId",
        "subagentRunId",
        "parentSubagentRunId",
        "entityId",
        "interruptId",
        "threadId",
        "runId",
        "parentRunId",
        "pendingToolCallIds",
        "interruptIds",
        "subtype",
        "role",
        "name",
        "stepName",
        "toolCallName",
        "activityType",
        "status",
        "protocolVersion",
        "timestamp",
        "expiresAt",
        "usage",
        "replace",
        "op",
        "path",
        "from",
        "code",
        "mimeType",
        "provider",
        "data",
        "encryptedValue",
        "encryptedValueType",
    }
)
_PAYLOADS: Final = frozenset(
    {
        "snapshot",
        "value",
        "event",
        "rawEvent",
        "metadata",
        "result",
        "state",
        "forwardedProps",
        "parameters",
        "responseSchema",
        "payload",
    }
)
_FOR_CLIENTS: Final = "@ag-ui/client"  # metadata that @ag-ui/client goes by: it names types of activities
_DEEPEST: Final = 64  # levels of a payload; what is nested deeper is replaced unread


def mask_members(event: Event, mask: Mask) -> Event:
    """The event with all its text masked; the event itself where nothing matches."""
    return _mask_object(event, mask, event.type == "TOOL_CALL_RESULT")


def _mask_object(holder: Holder, mask: Mask, answers: bool = False) -> Holder:
    """An object of the protocol. `answers`: its content is the result of a tool, which may be JSON."""
    answers = answers or holder.get("role") == "tool"
    kept = _STRUCTURE | {"value"} if holder.get("type") == "data" else _STRUCTURE  # a file in base64
    changes = {}
    for name, value in holder.members().items():
        if name not in kept:
            masked = _mask_member(name, value, mask, answers)
            if masked is not value:
                changes[name] = masked
    return holder.replace(**changes) if changes else holder


def _mask_member(name: str, value: Any, mask: Mask, answers: bool) -> Any:
    first = _first(value)
    if name in _PAYLOADS or (name == "content" and first == "{"):
        return _mask_payload(value, mask)
    if first == '"':
        document = name == "arguments" or (name == "content" and answers)
        return _mask_string(value, mask.document if document else mask.text)
    if first == "{":
        return _mask_held(value, lambda inner: _mask_object(inner, mask, False))
    if first == "[":
        return _mask_list(value, lambda element: _mask_member("", element, mask, False))
    return value


def _mask_payload(value: Any, mask: Mask, depth: int = 0) -> Any:
    """Any JSON: every string and every number in it."""
    first = _first(value)
    if first in "{[" and (depth > _DEEPEST or (depth == 0 and _is_undecodable(value))):
        return mask.replacement
    if first == '"':
        return _mask_string(value, mask.text)
    if first == "{":
        return _mask_held(value, lambda inner: _mask_all(inner, mask, depth + 1))
    if first == "[":
        return _mask_list(value, lambda element: _mask_payload(element, mask, depth + 1))
    if first in "tfn":
        return value
    return mask.replacement if mask.pattern.search(_text_of(value)) else value


def _mask_all(holder: JsonObject, mask: Mask, depth: int) -> JsonObject:
    masked = {
        name: value if name == _FOR_CLIENTS else _mask_payload(value, mask, depth)
        for name, value in holder.members().items()
    }
    same = all(masked[name] is value for name, value in holder.members().items())
    return holder if same else JsonObject(masked)


def _is_undecodable(value: Any) -> bool:
    """Whether it is nested so deep that only a scan could read it, level by level."""
    return type(value) is Raw and type(decode(bytes(value), "payload")) is Raw


def _first(value: Any) -> str:
    """The first character that a value has in JSON."""
    if type(value) is Raw:
        return chr(bytes(value)[0])
    if isinstance(value, str):
        return '"'
    if isinstance(value, JsonObject | dict):
        return "{"
    if isinstance(value, list | tuple):
        return "["
    return _text_of(value)[0]


def _text_of(value: Any) -> str:
    return (bytes(value) if type(value) is Raw else encode(value)).decode()


def _mask_string(value: Any, mask: Callable[[str], str]) -> Any:
    text = decode(bytes(value), "text") if type(value) is Raw else value
    masked = mask(text)
    return value if masked == text else masked


def _mask_held(value: Any, mask: Callable[[JsonObject], JsonObject]) -> Any:
    if isinstance(value, JsonObject):
        return mask(value)
    holder = JsonObject.of(bytes(value)) if type(value) is Raw else JsonObject(value)
    masked = mask(holder)
    return value if masked is holder else masked


def _mask_list(value: Any, mask: Callable[[Any], Any]) -> Any:
    elements = JsonObject({"": value}).get_raw_list("") if type(value) is Raw else value
    masked = [mask(element) for element in elements or ()]
    return value if all(map(operator.is_, masked, elements or ())) else masked
