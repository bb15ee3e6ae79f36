"""`binary` content parts: the only form of media before 0.0.49, and removed in 1.0.

Older agents still send them. 1.0.0 converts them to media parts, which every release from 0.0.49 on reads; earlier
releases read `binary`. Malformed binary parts are mended or left out by 1.0.0, while older clients would reject the run.
1.0.0 reads a `metadata` of null in a media part as absent.
"""

from typing import Any, Final

from agui_middleware.downgrades.content_parts import edit_posted_binaries, is_media
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import UNSET, JsonObject
from agui_middleware.protocol.messages import edit_elements, edit_messages
from agui_middleware.protocol.posted import Posted
from agui_middleware.protocol.releases import ClientVersion

_MEDIA_PARTS: Final = ClientVersion(0, 0, 49)
_PLACES: Final = ("data", "url", "id")


@per_event("MESSAGES_SNAPSHOT", INPUT_ECHO)
def binary_parts_as_media(context: Context) -> Step:
    """From 0.0.49 on, turn `binary` parts into media parts; drop duplicates of media parts, and malformed parts.

    A part with only an `id` is left to the client, since no media part can express it.
    """
    turns = context.client is None or context.client >= _MEDIA_PARTS

    def turn(message: JsonObject) -> JsonObject:
        return _edit(message, turns, context)

    return lambda event: edit_messages(event, turn) if event.may_contain(b'"binary"', b"null") else event


def posted_media(posted: Posted) -> Posted:
    """Turn the `binary` parts that a client posts into media parts, including those with only a provider's handle."""
    return edit_posted_binaries(posted)


def _edit(message: JsonObject, turns: bool, context: Context) -> JsonObject:
    media = [part for part in message.get_list("content") or () if isinstance(part, JsonObject) and is_media(part)]

    def edit(part: JsonObject) -> JsonObject | None:
        if part.get("type") != "binary":
            return part.without("metadata") if is_media(part) and part.get("metadata", UNSET) is None else part
        modern = _modern(part)
        if modern is not None and any(_mirrors(modern, other) for other in media):
            return None
        if _is_read(part) and not (turns and modern is not None):
            return part
        if modern is None:
            context.lost("binary parts", "media that say neither their type nor where they are")
            return None
        return JsonObject(modern)

    return edit_elements(message, "content", edit)


def _is_read(part: JsonObject) -> bool:
    """Whether the releases before 1.0.0 read a binary part."""
    values = [part.get(name, "") for name in (*_PLACES, "filename")]
    return isinstance(part.get("mimeType"), str) and all(isinstance(v, str) for v in values) and any(values[:3])


def _modern(part: JsonObject) -> dict[str, Any] | None:
    """The media part that 1.0.0 makes of a binary one; `None` where it can make none."""
    mime_type = part.get("mimeType")
    place = next((name for name in _PLACES[:2] if part.get(name)), None)
    if not isinstance(mime_type, str) or place is None:
        return None
    kind = mime_type.partition("/")[0]
    type = kind if kind in ("image", "audio", "video") and "/" in mime_type else "document"
    modern: dict[str, Any] = {"type": type, "source": {"type": place, "value": part[place], "mimeType": mime_type}}
    if part.get("filename"):
        modern["metadata"] = {"filename": part["filename"]}
    return modern


def _mirrors(modern: dict[str, Any], part: JsonObject) -> bool:
    """Whether a media part has all that the `modern` form of a binary part has: agents send both, for old clients."""
    source, metadata = part.get_object("source"), part.get_object("metadata")
    if part["type"] != modern["type"] or source is None:
        return False
    name = None if metadata is None else metadata.get("filename")
    named = "metadata" not in modern or name == modern["metadata"]["filename"]
    return named and all(source.get(name) == value for name, value in modern["source"].items())
