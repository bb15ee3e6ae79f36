"""`agui_middleware.filters.repair:repair`: for servers whose serialiser writes what no client reads.

Two faults are common. A serialiser writes `null` for every optional member that has no value, where AG-UI wants it left out;
a client rejects the run for most of them. And old releases of the Python SDK could not say another role than `assistant` on
REASONING_MESSAGE_START, where every client wants `reasoning`.

It is named a repair, is on no route by default, and reports all it does, since AG-UI forbids doing so silently. Its pages on
processing and versioning let a relay take out what a reader does not know, and nothing else: a malformed value has to reach
the reader, whose verdict tells the author of the fault. Who mends it on the way hides it from him, and from everybody who
reads the stream without the relay. So put it on a route for as long as the server cannot be changed.

Not repaired are required members that are null, names in snake_case, and what else a serialiser can get wrong: there the
right value is a guess.
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

from msgspec import Raw

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_types import require_every_type
from agui_middleware.protocol.messages import edit_elements, edit_object

Holder = TypeVar("Holder", bound=JsonObject)


@handles(EVERYTHING)
async def repair(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Leave out optional members that are null, in events and in the messages, inputs, outcomes and usage that they carry,
    and give REASONING_MESSAGE_START its role. Everything else passes as it is.
    """
    async for event in events:
        type = event.head.type
        if type in _EVENTS and b"null" in event.raw:
            mended = _mend(_EVENTS[type], event)
            if mended is not event:
                context.lost(f"null in {type}", "repaired: an optional member without a value is to be left out")
            event = mended
        if type == "REASONING_MESSAGE_START" and event.get("role") == "assistant":
            context.lost(f"role of {type}", "repaired: it is `reasoning`, and was sent as `assistant`")
            event = event.replace(role="reasoning")
        yield event


class Shape(NamedTuple):
    """The members of an object that are optional, and those that hold an object, or a list of objects, of a shape.

    `by_role`: what an object of a role has optional besides.
    """

    optional: frozenset[str]
    objects: Mapping[str, "Shape"] = MappingProxyType({})
    lists: Mapping[str, "Shape"] = MappingProxyType({})
    by_role: Mapping[str, frozenset[str]] = MappingProxyType({})


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_ENCRYPTED: Final = "encryptedValue encryptedValueType"
_CALL: Final = Shape(_names(f"metadata {_ENCRYPTED}"))
_PART: Final = Shape(_names("id metadata"), objects={"source": Shape(_names("mimeType provider"))})
_MESSAGE: Final = Shape(
    _names("subagentRunId metadata"),
    lists={"toolCalls": _CALL, "content": _PART},
    by_role={
        "developer": _names(f"name {_ENCRYPTED}"),
        "system": _names(f"name {_ENCRYPTED}"),
        "user": _names(f"name {_ENCRYPTED}"),
        "assistant": _names(f"name content toolCalls {_ENCRYPTED}"),
        "tool": _names(f"error {_ENCRYPTED}"),
        "reasoning": _names(_ENCRYPTED),
    },
)
_INPUT: Final = Shape(
    _names("protocolVersion parentRunId tools context forwardedProps resume"),
    lists={
        "messages": _MESSAGE,
        "tools": Shape(_names("parameters metadata")),
        "resume": Shape(_names("payload metadata")),
    },
)
_INTERRUPT: Final = Shape(_names("message toolCallId responseSchema expiresAt metadata subagentRunId"))
_OUTCOME: Final = Shape(_names("pendingToolCallIds interruptIds"), lists={"interrupts": _INTERRUPT})
_USAGE: Final = Shape(
    _names(
        "provider model inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens cacheWriteInputTokens"
    )
)

_OF_EVERY_EVENT: Final = _names("timestamp rawEvent metadata")
# These carry no tag of their own, or a required one.
_UNTAGGED: Final = {
    "RUN_STARTED": Shape(_names("protocolVersion parentRunId input"), objects={"input": _INPUT}),
    "RUN_FINISHED": Shape(_names("result outcome usage"), objects={"outcome": _OUTCOME}, lists={"usage": _USAGE}),
    "RUN_ERROR": Shape(_names("code usage"), lists={"usage": _USAGE}),
    "MESSAGES_SNAPSHOT": Shape(_names(""), lists={"messages": _MESSAGE}),
    "SUBAGENT_STARTED": Shape(_names("description parentSubagentRunId parentToolCallId parentMessageId")),
    "SUBAGENT_FINISHED": Shape(_names("result outcome"), objects={"outcome": _OUTCOME}),
    "SUBAGENT_ERROR": Shape(_names("code")),
}
# The tag of these is optional.
_TAGGED: Final = {
    "TEXT_MESSAGE_START": Shape(_names("role name")),
    "TEXT_MESSAGE_CHUNK": Shape(_names("messageId role name delta")),
    "TOOL_CALL_START": Shape(_names("parentMessageId")),
    "TOOL_CALL_CHUNK": Shape(_names("toolCallId toolCallName parentMessageId delta")),
    "TOOL_CALL_RESULT": Shape(_names("role"), lists={"content": _PART}),
    "ACTIVITY_SNAPSHOT": Shape(_names("replace")),
    "REASONING_MESSAGE_CHUNK": Shape(_names("messageId delta")),
    "REASONING_ENCRYPTED_VALUE": Shape(_names("encryptedValueType")),
    "RAW": Shape(_names("source")),
    "THINKING_START": Shape(_names("title")),
    **dict.fromkeys(
        _names(
            "TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_ARGS TOOL_CALL_END STATE_SNAPSHOT STATE_DELTA "
            "ACTIVITY_DELTA CUSTOM STEP_STARTED STEP_FINISHED REASONING_START REASONING_END REASONING_MESSAGE_START "
            "REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END THINKING_END THINKING_TEXT_MESSAGE_START "
            "THINKING_TEXT_MESSAGE_CONTENT THINKING_TEXT_MESSAGE_END"
        ),
        Shape(_names("")),
    ),
}


def _with(shape: Shape, names: frozenset[str]) -> Shape:
    return shape._replace(optional=shape.optional | names)


_EVENTS: Final = {
    **{type: _with(shape, _OF_EVERY_EVENT) for type, shape in _UNTAGGED.items()},
    **{type: _with(shape, _OF_EVERY_EVENT | {"subagentRunId"}) for type, shape in _TAGGED.items()},
}
require_every_type(_EVENTS, "the optional members of agui_middleware.filters.repair")


def _mend(shape: Shape, holder: Holder) -> Holder:
    for name, inner in shape.objects.items():
        holder = edit_object(holder, name, partial(_mend, inner))
    for name, inner in shape.lists.items():
        holder = edit_elements(holder, name, partial(_mend, inner))
    role = holder.get("role") if shape.by_role else None
    optional = shape.optional | (shape.by_role.get(role, frozenset()) if isinstance(role, str) else frozenset())
    return holder.without(*(name for name, value in holder.members().items() if name in optional and _is_null(value)))


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, Raw) and bytes(value) == b"null")
