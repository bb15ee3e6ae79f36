"""What each release of @ag-ui/client takes as an event: one table for all of them.

Up to 0.0.59 a release checks an event while it decodes it. 1.0.0 first forgives some nulls, turns THINKING_* and `binary`
parts into what replaced them, and leaves out what it does not know; the table has what it takes in the end.
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
    NOT_NULL,
    NUMBER,
    POINTER,
    PRESENT,
    RECORD,
    SAFE_COUNT,
    SKIPPED,
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
from agui_middleware.protocol.releases import ClientVersion

Members = Mapping[str, Kind]


def _optional(names: str, kind: Kind = STRING, since: str = "") -> dict[str, Kind]:
    may: Kind = Optional(kind)
    return {name: Since(since, may) if since else may for name in names.split()}


def _required(names: str) -> dict[str, Kind]:
    return dict.fromkeys(names.split(), STRING)


_TAG: Final = _optional("subagentRunId", since="0.0.59")
_METADATA: Final = _optional("metadata", RECORD, since="0.0.59")
_BASE: Final = {"timestamp": Optional(Since("1.0.0", INTEGER, NUMBER)), "rawEvent": Optional(ANY), **_METADATA}
_JSON: Final = Since("1.0.0", PRESENT, ANY)
_ENCRYPTED: Final = _optional("encryptedValue", since="0.0.45")
_DELTA: Final = Since("0.0.50", STRING, NOT_EMPTY)
_ROLES: Final = OneOf(("developer", "system", "assistant", "user"))
_ROLE: Final = Since("0.0.37", Optional(_ROLES), OneOf(("assistant",)))
_CHUNK_ROLE: Final = Optional(Since("0.0.37", _ROLES, OneOf(("assistant",))))
_NAME: Final = _optional("name", since="0.0.48")
_PARENT: Final = {"parentMessageId": Since("0.0.58", Optional(STRING, or_null=True), Optional(STRING))}


_FALSY: Final = (None, False, 0.0, "")
"""What JavaScript takes for false; an empty list or object it does not."""


class LegacyPart(ObjectOf):
    """A `binary` part as 1.0.0 reads it: with data, or else a URL, it becomes a media part; without, it is left out."""

    def fault(self, value: object, path: str) -> Fault | None:
        assert isinstance(value, dict)  # the tag was read from it
        place = next((name for name in ("data", "url") if value.get(name) not in _FALSY), None)
        if place is None or not isinstance(value.get("mimeType"), str):
            return SKIPPED
        return STRING.fault(value[place], f"{path}.{place}")


_SOURCE: Final = Tagged(
    "type",
    {
        "data": ObjectOf(_required("value mimeType")),
        "url": ObjectOf({"value": STRING, **_optional("mimeType")}),
        "file": Since("1.0.0", ObjectOf({"value": STRING, **_optional("provider mimeType")})),
    },
)
_PART_ID: Final = _optional("id", since="1.0.0")
_TEXT: Final = ObjectOf({"text": STRING, **_PART_ID, **_optional("metadata", NOT_NULL, since="1.0.0")})
_BINARY: Final = Since(
    "1.0.0",
    LegacyPart({}),
    ObjectOf({"mimeType": STRING, **_optional("id url data filename")}, needs_one=("id", "url", "data")),
)
_MEDIA: Final = ("image", "audio", "video", "document")


def _parts(metadata: Kind, **others: Kind) -> Kind:
    media = ObjectOf({"source": _SOURCE, **_PART_ID, "metadata": Optional(metadata)})
    return Tagged("type", {"text": _TEXT, **dict.fromkeys(_MEDIA, Since("0.0.49", media)), **others})


_MESSAGE_PARTS: Final = ListOf(_parts(ANY, binary=_BINARY), or_text=True)
_RESULT: Final = Since("1.0.0", ListOf(_parts(NOT_NULL), or_text=True), STRING)

_CALL: Final = ObjectOf(
    {
        "id": STRING,
        "type": OneOf(("function",)),
        "function": ObjectOf(_required("name arguments")),
        **_ENCRYPTED,
        **_METADATA,
    }
)


def _message(members: Members) -> ObjectOf:
    return ObjectOf({"id": STRING, **members, **_TAG, **_METADATA})


_SAID: Final = {"content": STRING, **_optional("name"), **_ENCRYPTED}
_MESSAGES: Final = ListOf(
    Tagged(
        "role",
        {
            "developer": _message(_SAID),
            "system": _message(_SAID),
            "assistant": _message({**_SAID, **_optional("content"), **_optional("toolCalls", ListOf(_CALL))}),
            "user": _message({**_SAID, "content": Since("0.0.41", _MESSAGE_PARTS, STRING)}),
            "tool": _message(
                {
                    "toolCallId": STRING,
                    "content": Since("1.0.0", _MESSAGE_PARTS, STRING),
                    **_optional("error", since="0.0.36"),
                    **_ENCRYPTED,
                }
            ),
            "activity": Since("0.0.41", _message({"activityType": STRING, "content": RECORD})),
            "reasoning": Since("0.0.45", _message({"content": STRING, **_ENCRYPTED})),
        },
    )
)
_TOOL: Final = ObjectOf(
    {**_required("name description"), "parameters": Optional(ANY), **_optional("metadata", RECORD, since="0.0.52")}
)
_CONTEXT: Final = ObjectOf(_required("description value"))
_RESUME: Final = ObjectOf(
    {
        "interruptId": STRING,
        "status": OneOf(("resolved", "cancelled")),
        "payload": Optional(ANY),
        **_METADATA,
    }
)
_INPUT: Final = ObjectOf(
    {
        **_required("threadId runId"),
        **_optional("protocolVersion", since="1.0.0"),
        **_optional("parentRunId"),
        "state": Optional(ANY),
        "messages": _MESSAGES,
        "tools": Since("1.0.0", Optional(ListOf(_TOOL)), ListOf(_TOOL)),
        "context": Since("1.0.0", Optional(ListOf(_CONTEXT)), ListOf(_CONTEXT)),
        "forwardedProps": Optional(ANY),
        **_optional("resume", ListOf(_RESUME), since="0.0.54"),
    }
)
_TOKENS: Final = "inputTokens outputTokens totalTokens reasoningTokens cachedInputTokens"
_COUNT: Final = Since("1.0.0", SAFE_COUNT, COUNT)
_USAGE: Final = _optional(
    "usage",
    ListOf(
        ObjectOf(
            {
                **_optional("provider model"),
                **_optional(_TOKENS, _COUNT),
                **_optional("cacheWriteInputTokens", _COUNT, since="1.0.0"),
            }
        )
    ),
    since="0.0.58",
)
_INTERRUPT: Final = ObjectOf(
    {
        **_required("id reason"),
        **_optional("message toolCallId expiresAt"),
        **_optional("responseSchema metadata", RECORD),
        **_TAG,
    }
)


def _open_since_1_0(tag: str, members: Members, later: Members | None = None) -> Kind:
    """An outcome: until 0.0.59 a release rejects members that it does not know."""
    kind = {"type": OneOf((tag,))}
    return Since("1.0.0", ObjectOf({**kind, **members, **(later or {})}), ObjectOf({**kind, **members}, closed=True))


_OUTCOME: Final = Tagged(
    "type",
    {
        "success": _open_since_1_0("success", {}, _optional("pendingToolCallIds", ListOf(STRING))),
        "interrupt": _open_since_1_0("interrupt", {"interrupts": ListOf(_INTERRUPT, least=1)}),
        "cancelled": Since("1.0.0", ObjectOf({})),
    },
)
_SUBAGENT_OUTCOME: Final = Tagged(
    "type",
    {
        "success": _open_since_1_0("success", {}),
        "suspended": _open_since_1_0("suspended", _optional("interruptIds", ListOf(STRING))),
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


def _event(members: Members, tag: Members = _TAG) -> Kind:
    return ObjectOf({**_BASE, **tag, **members})


def _untagged(members: Members) -> Kind:
    return _event(members, {})


def _each(types: str, kind: Kind, since: str = "") -> dict[str, Kind]:
    return {type: Since(since, kind) if since else kind for type in types.split()}


_OF_A_TEXT: Final = _required("messageId")
_OF_A_CALL: Final = _required("toolCallId")
_OF_AN_ACTIVITY: Final = _required("messageId activityType")
# The translation of 1.0.0 leaves what a THINKING_* event holds, so a tag counts there.
_THINKING_TAG: Final = {"subagentRunId": Since("1.0.0", Optional(STRING))}
_TITLE: Final = {"title": Since("1.0.0", ABSENT, Optional(STRING))}

EVENTS: Final[Mapping[str, Kind]] = {
    "TEXT_MESSAGE_START": _event({**_OF_A_TEXT, "role": _ROLE, **_NAME}),
    "TEXT_MESSAGE_CONTENT": _event({**_OF_A_TEXT, "delta": _DELTA}),
    "TEXT_MESSAGE_END": _event(_OF_A_TEXT),
    "TEXT_MESSAGE_CHUNK": Since("0.0.28", _event({**_optional("messageId delta"), "role": _CHUNK_ROLE, **_NAME})),
    "TOOL_CALL_START": _event({**_OF_A_CALL, "toolCallName": STRING, **_PARENT}),
    "TOOL_CALL_ARGS": _event({**_OF_A_CALL, "delta": STRING}),
    "TOOL_CALL_END": _event(_OF_A_CALL),
    "TOOL_CALL_CHUNK": Since("0.0.28", _event({**_optional("toolCallId toolCallName delta"), **_PARENT})),
    "TOOL_CALL_RESULT": Since(
        "0.0.30",
        _event({**_required("messageId toolCallId"), "content": _RESULT, **_optional("role", OneOf(("tool",)))}),
    ),
    "STATE_SNAPSHOT": _event({"snapshot": _JSON}),
    "STATE_DELTA": _event({"delta": _PATCH}),
    "MESSAGES_SNAPSHOT": _untagged({"messages": _MESSAGES}),
    "ACTIVITY_SNAPSHOT": Since(
        "0.0.41", _event({**_OF_AN_ACTIVITY, "content": RECORD, **_optional("replace", BOOLEAN)})
    ),
    "ACTIVITY_DELTA": Since("0.0.41", _event({**_OF_AN_ACTIVITY, "patch": _PATCH})),
    "RAW": _event({"event": _JSON, **_optional("source")}),
    "CUSTOM": _event({"name": STRING, "value": _JSON}),
    "RUN_STARTED": _untagged(
        {
            **_required("threadId runId"),
            **_optional("protocolVersion", since="1.0.0"),
            **_optional("parentRunId", since="0.0.41"),
            **_optional("input", _INPUT, since="0.0.41"),
        }
    ),
    "RUN_FINISHED": _untagged(
        {
            **_required("threadId runId"),
            **_optional("result", ANY, since="0.0.34"),
            "outcome": Since("0.0.54", Optional(_OUTCOME, or_null=True)),
            **_USAGE,
        }
    ),
    "RUN_ERROR": _untagged({"message": STRING, **_optional("code"), **_USAGE}),
    **_each("STEP_STARTED STEP_FINISHED", _event({"stepName": STRING})),
    **_each("REASONING_START REASONING_END REASONING_MESSAGE_END", _event(_OF_A_TEXT), since="0.0.45"),
    "REASONING_MESSAGE_START": Since("0.0.45", _event({**_OF_A_TEXT, "role": OneOf(("reasoning",))})),
    "REASONING_MESSAGE_CONTENT": Since("0.0.45", _event({**_OF_A_TEXT, "delta": _DELTA})),
    "REASONING_MESSAGE_CHUNK": Since("0.0.45", _event(_optional("messageId delta"))),
    "REASONING_ENCRYPTED_VALUE": Since(
        "0.0.45", _event({**_required("entityId encryptedValue"), "subtype": OneOf(("tool-call", "message"))})
    ),
    "SUBAGENT_STARTED": Since(
        "0.0.59",
        _untagged(
            {
                **_required("subagentRunId name"),
                **_optional("description parentSubagentRunId parentToolCallId parentMessageId"),
            }
        ),
    ),
    "SUBAGENT_FINISHED": Since(
        "0.0.59",
        _untagged({"subagentRunId": STRING, "result": Optional(ANY), "outcome": Optional(_SUBAGENT_OUTCOME)}),
    ),
    "SUBAGENT_ERROR": Since("0.0.59", _untagged({**_required("subagentRunId message"), **_optional("code")})),
    "THINKING_START": Since("0.0.37", _event(_TITLE, _THINKING_TAG)),
    "THINKING_END": Since("0.0.37", _event({}, _THINKING_TAG)),
    **_each("THINKING_TEXT_MESSAGE_START THINKING_TEXT_MESSAGE_END", _event({}, _THINKING_TAG), since="0.0.30"),
    "THINKING_TEXT_MESSAGE_CONTENT": Since("0.0.30", _event({"delta": _DELTA}, _THINKING_TAG)),
}
"""By event type. A release rejects a type that is `ABSENT` at it; from 1.0.0 on, it skips unknown types."""


@cache
def schemas_of(release: ClientVersion) -> Mapping[str, Kind]:
    """The event types that `release` reads, with what it takes as one."""
    settled = {type: kind.at(release) for type, kind in EVENTS.items()}
    return {type: kind for type, kind in settled.items() if kind is not ABSENT}


def versions_of(kinds: Iterable[Kind]) -> frozenset[ClientVersion]:
    """The releases with which any of `kinds` changes."""
    return frozenset(version for kind in kinds for version in kind.versions())


def first_fault(type: str, plain: dict[str, Any], release: ClientVersion) -> Fault | None:
    """The first value of an event, decoded with numbers as floats, that `release` rejects.

    `type` is one of `schemas_of(release)`.
    """
    return schemas_of(release)[type].fault(plain, "")
