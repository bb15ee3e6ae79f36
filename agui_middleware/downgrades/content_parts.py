"""Helpers for the downgrades that edit content parts."""

from collections.abc import Collection
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.json_object import UNDECODABLE
from agui_middleware.protocol.messages import Edit, edit_elements, edit_messages
from agui_middleware.protocol.posted import Posted

_ABSENT: Final = Raw(b"")
_EMPTY: Final = frozenset({b"", b"null", b'""'})
_PLACES: Final = {"data": "data", "url": "url", "id": "file"}  # of a binary part, and the source that each one becomes
_GOES: Final = frozenset({*_PLACES, "mimeType", "filename"})
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


class _Binary(msgspec.Struct, gc=False):
    """What decides on the media part for a `binary` one. Its value stays undecoded: it may be a whole file."""

    type: Any = None
    mimeType: Any = None
    filename: Any = None
    data: Raw = _ABSENT
    url: Raw = _ABSENT
    id: Raw = _ABSENT


_read_binary = msgspec.json.Decoder(_Binary).decode


def edit_posted_binaries(posted: Posted, filled: Collection[str] = ()) -> Posted:
    """Turn the `binary` content parts in the messages of a posted RunAgentInput into media parts, see `media_of`."""

    def edit_part(part: JsonObject) -> JsonObject:
        return media_of(part, filled)

    def edit_message(message: JsonObject) -> JsonObject:
        return edit_elements(message, "content", edit_part, containing=b'"binary"')

    return posted.edit(edit_message, containing=b'"binary"', keeps_heads=True)


def media_of(part: JsonObject, filled: Collection[str] = ()) -> JsonObject:
    """Return the media part for a `binary` part; the part itself if it is another, or has neither data, URL nor id.

    The kind is the first half of the MIME type, or `document`. A MIME type that is in `filled` tells only the kind. Data
    need a MIME type.
    """
    binary = _binary(part)
    if binary.type != "binary" or not isinstance(binary.mimeType, str | None):
        return part
    source = _source(binary)
    if source is None:
        return part
    kind, slash, _ = (binary.mimeType or "").partition("/")
    if binary.mimeType is not None and (source["type"] == "data" or binary.mimeType not in filled):
        source["mimeType"] = binary.mimeType
    after = {name: value for name, value in part.members().items() if name not in _GOES}
    after["type"] = kind if slash and kind in MEDIA else "document"
    after["source"] = source
    if binary.filename:
        metadata = part.get("metadata")
        after["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), "filename": binary.filename}
    return JsonObject(after)


def _source(binary: _Binary) -> dict[str, Any] | None:
    for place, kind in _PLACES.items():
        value = getattr(binary, place)
        raw = bytes(value)
        if raw not in _EMPTY:
            is_whole = raw.startswith(b'"') and (place != "data" or binary.mimeType is not None)
            return {"type": kind, "value": value} if is_whole else None
    return None


def _binary(part: JsonObject) -> _Binary:
    try:
        return _read_binary(part.raw)
    except UNDECODABLE:  # such as half a character, which msgspec refuses
        members = part.members()
        values = {name: members[name] for name in _PLACES if name in members}
        return _Binary(part.get("type"), part.get("mimeType"), part.get("filename"), **values)
