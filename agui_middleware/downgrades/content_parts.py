"""Helpers for the downgrades that edit content parts."""

from collections.abc import Callable, Collection
from typing import Any, Final, TypeVar

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import Edit, edit_elements, edit_messages
from agui_middleware.protocol.posted import Posted

_PLACES: Final = {"data": "data", "url": "url", "id": "file"}  # of a binary part, and the source that each one becomes
Holder = TypeVar("Holder", bound=JsonObject)

MEDIA: Final = frozenset({"image", "audio", "video", "document"})


def edit_parts(event: Event, edit: Edit) -> Event:
    """Edit the content parts of the messages in a MESSAGES_SNAPSHOT or an input echo, as `edit_elements` does."""
    return edit_messages(event, lambda message: edit_elements(message, "content", edit))


def is_media(part: JsonObject) -> bool:
    """Whether a part is an image, an audio, a video or a document."""
    type = part.get("type")
    return isinstance(type, str) and type in MEDIA


def joined(holder: Holder) -> tuple[Holder, bool]:
    """Return the message or result with its text parts joined into one string, and whether other parts were lost.

    The object is returned unchanged if its content is not a list of parts, or has a part that no client reads.
    """
    parts = holder.get_list("content")
    if parts is None or not all(map(_is_well_formed, parts)):
        return holder, False
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    return holder.replace(content="".join(texts)), len(texts) < len(parts)


def _is_well_formed(part: object) -> bool:
    return isinstance(part, JsonObject) and (part.get("type") != "text" or isinstance(part.get("text"), str))


def edit_posted_binaries(posted: Posted, edit: Callable[[JsonObject], JsonObject]) -> Posted:
    """Edit the `binary` content parts in the messages of a posted RunAgentInput."""

    def edit_binary(part: JsonObject) -> JsonObject:
        return edit(part) if part.get("type") == "binary" else part

    def edit_message(message: JsonObject) -> JsonObject:
        return edit_elements(message, "content", edit_binary, containing=b'"binary"')

    return posted.edit(edit_message, containing=b'"binary"')


def media_of(part: JsonObject, filled: Collection[str] = ()) -> JsonObject:
    """Return the media part for a `binary` part; the part itself if it has neither data, URL nor id.

    The kind is the first half of the MIME type, or `document`. A MIME type that is in `filled` tells only the kind. Data
    need a MIME type.
    """
    mime_type, place = part.get("mimeType"), next((name for name in _PLACES if part.get(name)), None)
    if place is None or not isinstance(part[place], str) or not isinstance(mime_type, str | None):
        return part
    if place == "data" and mime_type is None:
        return part
    kind, slash, _ = (mime_type or "").partition("/")
    source = {"type": _PLACES[place], "value": part[place]}
    if mime_type is not None and (place == "data" or mime_type not in filled):
        source["mimeType"] = mime_type
    changes: dict[str, Any] = {"type": kind if slash and kind in MEDIA else "document", "source": source}
    if name := part.get("filename"):
        metadata = part.get("metadata")
        changes["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "filename": name}
    return part.without("mimeType", "filename", *_PLACES).replace(**changes)
