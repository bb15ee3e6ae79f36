"""The schemas of events for each release of @ag-ui/client, in one table.

Up to 0.0.59 a release checks an event while it decodes it. 1.0.0 first removes some nulls, converts THINKING_* and `binary`
parts to their successors, and leaves out what it does not know. The table describes everything that it accepts that way.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from agui_middleware.checking.kinds import (
    ABSENT,
    ANY,
    BOOLEAN,
    COUNT,
    INTEGER,
    NOT_EMPTY,
    NUMBER,
    POINTER,
    PRESENT,
    RECORD,
    SAFE_COUNT,
    STRING,
    Fault,
    Kind,
    ListOf,
    ObjectOf,
    OneOf,
    Optional,
    Since,
    Tagged,
)
from agui_middleware.checking.message_schemas import INPUT, MESSAGES, RESULT
from agui_middleware.checking.schema_members import METADATA, TAG, Members, optional, required
from agui_middleware.protocol.releases import ClientVersion

_BASE: Final = {"timestamp": Optional(Since("1.0.0", INTEGER, NUMBER)), "rawEvent": Optional(ANY), **METADATA}
_JSON: Final = Since("1.0.0", PRESENT, ANY)
_DELTA: Final = Since("0.0.50", STRING, NOT_EMPTY)
_ROLES: Final = OneOf(("developer", "system", "assistant", "user"))
_ROLE: Final = Since("0.0.37", Optional(_ROLES), OneOf(("assistant",)))
_CHUNK_ROLE: Final = Optional(Since("0.0.37", _ROLES, OneOf(("assistant",))))
_NAME: Final = optional("name", since="0.0.48")
_PARENT: Final = {"parentMessageId": Since("0.0.58", Optional(STRING, or_null=True), Optional(STRING))}
_TOKENS: Final = "inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens"
_COUNT: Final = Since("1.0.0", SAFE_COUNT, COUNT)
_USAGE: Final = optional(
    "usage",
    ListOf(
        ObjectOf(
            {
                **optional("provider model"),
                **optional(_TOKENS, _COUNT),
                **optional("cacheWriteInputTokens", _COUNT, since="1.0.0"),
            }
        )
    ),
    since="0.0.58",
)
_INTERRUPT: Final = ObjectOf(
    {
        **required("id reason"),
        **optional("message toolCallId expiresAt"),
        **optional("responseSchema metadata", RECORD),
        **TAG,
    }
)


def _open_since_1_0(tag: str, members: Members, later: Members | None = None) -> Kind:
    """An outcome: until 0.0.59 a release rejects members that it does not know."""
    kind = {"type": OneOf((tag,))}
    return Since("1.0.0", ObjectOf({**kind, **members, **(later or {})}), ObjectOf({**kind, **members}, closed=True))


_OUTCOME: Final = Tagged(
    "type",
    {
        "success": _open_since_1_0("success", {}, optional("pendingToolCallIds", ListOf(STRING))),
        "interrupt": _open_since_1_0("interrupt", {"interrupts": ListOf(_INTERRUPT, least=1)}),
        "cancelled": Since("1.0.0", ObjectOf({})),
    },
)
_SUBAGENT_OUTCOME: Final = Tagged(
    "type",
    {
        "success": _open_since_1_0("success", {}),
        "suspended": _open_since_1_0("suspended", optional("interruptIds", ListOf(STRING))),
    },
)
_POINTERS: Final = {"path": POINTER}
_PATCH: Final = Since(
    "1.0.0",
    ListOf(
        Tagged(
            "op",
            {
                **dict.fromkeys(("add", "replace", "test"), ObjectOf({**_POINTERS, "value": PRESENT})),
                "remove": ObjectOf(_POINTERS),
                **dict.fromkeys(("move", "copy"), ObjectOf({**_POINTERS, "from": POINTER})),
            },
        )
    ),
    ListOf(ANY),
)


def _event(members: Members, tag: Members = TAG) -> Kind:
    return ObjectOf({**_BASE, **tag, **members})


def _untagged(members: Members) -> Kind:
    return _event(members, {})


def _each(types: str, kind: Kind, since: str = "") -> dict[str, Kind]:
    return {type: Since(since, kind) if since else kind for type in types.split()}


_OF_A_TEXT: Final = required("messageId")
_OF_A_CALL: Final = required("toolCallId")
_OF_AN_ACTIVITY: Final = required("messageId activityType")
# The translation of 1.0.0 leaves what a THINKING_* event holds, so a tag counts there.
_THINKING_TAG: Final = {"subagentRunId": Since("1.0.0", Optional(STRING))}
_TITLE: Final = {"title": Since("1.0.0", ABSENT, Optional(STRING))}

EVENTS: Final[Mapping[str, Kind]] = {
    "TEXT_MESSAGE_START": _event({**_OF_A_TEXT, "role": _ROLE, **_NAME}),
    "TEXT_MESSAGE_CONTENT": _event({**_OF_A_TEXT, "delta": _DELTA}),
    "TEXT_MESSAGE_END": _event(_OF_A_TEXT),
    "TEXT_MESSAGE_CHUNK": Since("0.0.28", _event({**optional("messageId delta"), "role": _CHUNK_ROLE, **_NAME})),
    "TOOL_CALL_START": _event({**_OF_A_CALL, "toolCallName": STRING, **_PARENT}),
    "TOOL_CALL_ARGS": _event({**_OF_A_CALL, "delta": STRING}),
    "TOOL_CALL_END": _event(_OF_A_CALL),
    "TOOL_CALL_CHUNK": Since("0.0.28", _event({**optional("toolCallId toolCallName delta"), **_PARENT})),
    "TOOL_CALL_RESULT": Since(
        "0.0.30",
        _event({**required("messageId toolCallId"), "content": RESULT, **optional("role", OneOf(("tool",)))}),
    ),
    "STATE_SNAPSHOT": _event({"snapshot": _JSON}),
    "STATE_DELTA": _event({"delta": _PATCH}),
    "MESSAGES_SNAPSHOT": _untagged({"messages": MESSAGES}),
    "ACTIVITY_SNAPSHOT": Since(
        "0.0.41", _event({**_OF_AN_ACTIVITY, "content": RECORD, **optional("replace", BOOLEAN)})
    ),
    "ACTIVITY_DELTA": Since("0.0.41", _event({**_OF_AN_ACTIVITY, "patch": _PATCH})),
    "RAW": _event({"event": _JSON, **optional("source")}),
    "CUSTOM": _event({"name": STRING, "value": _JSON}),
    "RUN_STARTED": _untagged(
        {
            **required("threadId runId"),
            **optional("protocolVersion", since="1.0.0"),
            **optional("parentRunId", since="0.0.41"),
            **optional("input", INPUT, since="0.0.41"),
        }
    ),
    "RUN_FINISHED": _untagged(
        {
            **required("threadId runId"),
            **optional("result", ANY, since="0.0.34"),
            "outcome": Since("0.0.54", Optional(_OUTCOME, or_null=True)),
            **_USAGE,
        }
    ),
    "RUN_ERROR": _untagged({"message": STRING, **optional("code"), **_USAGE}),
    **_each("STEP_STARTED STEP_FINISHED", _event({"stepName": STRING})),
    **_each("REASONING_START REASONING_END REASONING_MESSAGE_END", _event(_OF_A_TEXT), since="0.0.45"),
    "REASONING_MESSAGE_START": Since("0.0.45", _event({**_OF_A_TEXT, "role": OneOf(("reasoning",))})),
    "REASONING_MESSAGE_CONTENT": Since("0.0.45", _event({**_OF_A_TEXT, "delta": _DELTA})),
    "REASONING_MESSAGE_CHUNK": Since("0.0.45", _event(optional("messageId delta"))),
    "REASONING_ENCRYPTED_VALUE": Since(
        "0.0.45", _event({**required("entityId encryptedValue"), "subtype": OneOf(("tool-call", "message"))})
    ),
    "SUBAGENT_STARTED": Since(
        "0.0.59",
        _untagged(
            {
                **required("subagentRunId name"),
                **optional("description parentSubagentRunId parentToolCallId parentMessageId"),
            }
        ),
    ),
    "SUBAGENT_FINISHED": Since(
        "0.0.59",
        _untagged({"subagentRunId": STRING, "result": Optional(ANY), "outcome": Optional(_SUBAGENT_OUTCOME)}),
    ),
    "SUBAGENT_ERROR": Since("0.0.59", _untagged({**required("subagentRunId message"), **optional("code")})),
    "THINKING_START": Since("0.0.37", _event(_TITLE, _THINKING_TAG)),
    "THINKING_END": Since("0.0.37", _event({}, _THINKING_TAG)),
    **_each("THINKING_TEXT_MESSAGE_START THINKING_TEXT_MESSAGE_END", _event({}, _THINKING_TAG), since="0.0.30"),
    "THINKING_TEXT_MESSAGE_CONTENT": Since("0.0.30", _event({"delta": _DELTA}, _THINKING_TAG)),
}
"""By event type. A release rejects a type that is `ABSENT` in it; from 1.0.0 on, it skips unknown types."""


@cache
def schemas_of(release: ClientVersion) -> Mapping[str, Kind]:
    """The event types that `release` reads, with their schemas."""
    settled = {type: kind.at(release) for type, kind in EVENTS.items()}
    return {type: kind for type, kind in settled.items() if kind is not ABSENT}


def versions_of(kinds: Iterable[Kind]) -> frozenset[ClientVersion]:
    """The releases with which any of `kinds` changes."""
    return frozenset(version for kind in kinds for version in kind.versions())


def first_fault(type: str, plain: dict[str, Any], release: ClientVersion) -> Fault | None:
    """The first value that `release` rejects in an event, which is decoded with numbers as floats.

    `type` is one of `schemas_of(release)`.
    """
    return schemas_of(release)[type].fault(plain, "")
