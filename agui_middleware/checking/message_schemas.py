"""The schemas of the messages, and of the posted input, that an event carries, for each release of @ag-ui/client."""

from typing import Final

from agui_middleware.checking.kinds import (
    ANY,
    NOT_NULL,
    RECORD,
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
from agui_middleware.checking.schema_members import METADATA, TAG, Members, optional, required

_FALSY: Final = (None, False, 0.0, "")
"""The values that JavaScript counts as false. Empty lists and objects are not among them."""


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
        "data": ObjectOf(required("value mimeType")),
        "url": ObjectOf({"value": STRING, **optional("mimeType")}),
        "file": Since("1.0.0", ObjectOf({"value": STRING, **optional("provider mimeType")})),
    },
)
_PART_ID: Final = optional("id", since="1.0.0")
_TEXT: Final = ObjectOf({"text": STRING, **_PART_ID, **optional("metadata", NOT_NULL, since="1.0.0")})
_BINARY: Final = Since(
    "1.0.0",
    LegacyPart({}),
    ObjectOf({"mimeType": STRING, **optional("id url data filename")}, needs_one=("id", "url", "data")),
)
_MEDIA: Final = ("image", "audio", "video", "document")


def _parts(metadata: Kind, **others: Kind) -> Kind:
    media = ObjectOf({"source": _SOURCE, **_PART_ID, "metadata": Optional(metadata)})
    return Tagged("type", {"text": _TEXT, **dict.fromkeys(_MEDIA, Since("0.0.49", media)), **others})


_MESSAGE_PARTS: Final = ListOf(_parts(ANY, binary=_BINARY), or_text=True)
RESULT: Final[Kind] = Since("1.0.0", ListOf(_parts(NOT_NULL), or_text=True), STRING)

_ENCRYPTED: Final = optional("encryptedValue", since="0.0.45")
_CALL: Final = ObjectOf(
    {
        "id": STRING,
        "type": OneOf(("function",)),
        "function": ObjectOf(required("name arguments")),
        **_ENCRYPTED,
        **METADATA,
    }
)


def _message(members: Members) -> ObjectOf:
    return ObjectOf({"id": STRING, **members, **TAG, **METADATA})


_SAID: Final = {"content": STRING, **optional("name"), **_ENCRYPTED}
MESSAGES: Final[Kind] = ListOf(
    Tagged(
        "role",
        {
            "developer": _message(_SAID),
            "system": _message(_SAID),
            "assistant": _message({**_SAID, **optional("content"), **optional("toolCalls", ListOf(_CALL))}),
            "user": _message({**_SAID, "content": Since("0.0.41", _MESSAGE_PARTS, STRING)}),
            "tool": _message(
                {
                    "toolCallId": STRING,
                    "content": Since("1.0.0", _MESSAGE_PARTS, STRING),
                    **optional("error", since="0.0.36"),
                    **_ENCRYPTED,
                }
            ),
            "activity": Since("0.0.41", _message({"activityType": STRING, "content": RECORD})),
            "reasoning": Since("0.0.45", _message({"content": STRING, **_ENCRYPTED})),
        },
    )
)
_TOOL: Final = ObjectOf(
    {**required("name description"), "parameters": Optional(ANY), **optional("metadata", RECORD, since="0.0.52")}
)
_CONTEXT: Final = ObjectOf(required("description value"))
_RESUME: Final = ObjectOf(
    {
        "interruptId": STRING,
        "status": OneOf(("resolved", "cancelled")),
        "payload": Optional(ANY),
        **METADATA,
    }
)
INPUT: Final[Kind] = ObjectOf(
    {
        **required("threadId runId"),
        **optional("protocolVersion", since="1.0.0"),
        **optional("parentRunId"),
        "state": Optional(ANY),
        "messages": MESSAGES,
        "tools": Since("1.0.0", Optional(ListOf(_TOOL)), ListOf(_TOOL)),
        "context": Since("1.0.0", Optional(ListOf(_CONTEXT)), ListOf(_CONTEXT)),
        "forwardedProps": Optional(ANY),
        **optional("resume", ListOf(_RESUME), since="0.0.54"),
    }
)
