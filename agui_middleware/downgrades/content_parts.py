"""Helpers for the downgrades that edit content parts."""

from collections.abc import Collection
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.json_object import UNDECODABLE, encode
from agui_middleware.protocol.messages import Edit, edit_elements, edit_messages
from agui_middleware.protocol.posted import Posted

_WORD: Final = b'"binary"'
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


class _PlainBinary(_Binary, gc=False, forbid_unknown_fields=True):
    """A `binary` part without members of its own, which nearly all are."""


class _Parts(msgspec.Struct, gc=False):
    content: list[Raw]


_read_binary = msgspec.json.Decoder(_Binary).decode
_read_plain_binary = msgspec.json.Decoder(_PlainBinary).decode
_read_parts = msgspec.json.Decoder(_Parts).decode


def edit_posted_binaries(posted: Posted, filled: Collection[str] = ()) -> Posted:
    """Turn the `binary` content parts in the messages of a posted RunAgentInput into media parts, see `media_of`."""

    def edit_part(part: JsonObject) -> JsonObject:
        return media_of(part, filled)

    def edit_message(message: JsonObject) -> JsonObject:
        after = _with_media(message, filled)
        return edit_elements(message, "content", edit_part, containing=_WORD) if after is None else after

    return posted.edit(edit_message, containing=_WORD, keeps_heads=True)


def _with_media(message: JsonObject, filled: Collection[str]) -> JsonObject | None:
    """The message with its binary parts replaced in its bytes; `None` where that takes a closer look.

    The usual part of the usual message, at a third of the cost. Where the word stands in its parts, and nowhere else, it
    tells where they begin: to search for a whole part costs more than to parse it.
    """
    before = message.raw
    if message.has_escapes():
        return None
    after, end, words = [], 0, 0
    try:
        for part in _read_parts(before).content:
            raw = bytes(part)
            place = raw.find(_WORD)
            if place >= 0:
                media = _media(_read_plain_binary(raw), filled)
                if media is None:
                    return None
                start = before.find(_WORD, end) - place
                after += [before[end:start], encode(media)]
                end, words = start + len(raw), words + 1
    except UNDECODABLE:
        return None
    return JsonObject.of(b"".join([*after, before[end:]])) if before.count(_WORD) == words else None


def _media(binary: _Binary, filled: Collection[str]) -> dict[str, Any] | None:
    """The media part for a `binary` one, without the members that it keeps; `None` where there is none."""
    if binary.type != "binary" or not isinstance(binary.mimeType, str | None):
        return None
    source = _source(binary)
    if source is None:
        return None
    kind, slash, _ = (binary.mimeType or "").lower().partition("/")  # has no case: RFC 2045, 5.1
    if binary.mimeType is not None and (source["type"] == "data" or binary.mimeType not in filled):
        source["mimeType"] = binary.mimeType
    media: dict[str, Any] = {"type": kind if slash and kind in MEDIA else "document", "source": source}
    if binary.filename:
        media["metadata"] = {"filename": binary.filename}
    return media


def media_of(part: JsonObject, filled: Collection[str] = ()) -> JsonObject:
    """Return the media part for a `binary` part; the part itself if it is another, or has neither data, URL nor id.

    The kind is the first half of the MIME type, or `document`. A MIME type that is in `filled` tells only the kind. Data
    need a MIME type.
    """
    media = _media(_binary(part), filled)
    if media is None:
        return part
    metadata = part.get("metadata")
    if "metadata" in media and isinstance(metadata, dict):
        media["metadata"] = {**metadata, **media["metadata"]}
    return JsonObject({name: value for name, value in part.members().items() if name not in _GOES} | media)


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
