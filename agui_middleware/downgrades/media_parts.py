"""Media as parts of their kind: `image`, `audio`, `video` and `document`.

Releases 0.0.41 to 0.0.48 only know `binary`, with MIME type and URL or data at its top level, and reject other kinds.
`binary` requires a MIME type, which current parts may omit; then the kind is written in its place.
"""

from typing import Any, Final

from agui_middleware.downgrades.content_parts import edit_parts, edit_posted_binaries, is_media
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.posted import Posted

_MIME_TYPE: Final = {
    "image": "image/*",
    "audio": "audio/*",
    "video": "video/*",
    "document": "application/octet-stream",
}
_SOURCES: Final = ("data", "url")  # and the members of a binary part in which their values stand


@per_event("MESSAGES_SNAPSHOT", INPUT_ECHO)
def media_parts_as_binary(context: Context) -> Step:
    """Turn the media of messages into `binary` parts. A part without a value would be rejected, and goes."""

    def turn(part: JsonObject) -> JsonObject | None:
        source = part.get_object("source") if is_media(part) else None
        if source is None or not _is_well_formed(source):
            return part
        if part.get("metadata") not in (None, metadata := _kept(part.get("metadata"))):
            context.lost("media metadata", "what a part says about its image, audio, video or document", "0.0.49")
        if not source["value"]:
            return None
        mime_type = source.get("mimeType", _MIME_TYPE[part["type"]])
        return JsonObject({"type": "binary", "mimeType": mime_type, source["type"]: source["value"], **metadata})

    return lambda event: edit_parts(event, turn) if event.may_contain(b'"source"') else event


def binary_as_media(posted: Posted) -> Posted:
    """Turn the `binary` parts that a client posts into media, without the MIME type that stood in for an absent one."""
    return edit_posted_binaries(posted, filled=_MIME_TYPE.values())


def _is_well_formed(source: JsonObject) -> bool:
    if not isinstance(source.get("value"), str):
        return False
    return source.get("type") in _SOURCES and isinstance(source.get("mimeType", ""), str)


def _kept(metadata: Any) -> dict[str, Any]:
    """What a binary part has a member for: the file's name."""
    name = metadata.get("filename") if isinstance(metadata, dict) else None
    return {"filename": name} if isinstance(name, str) else {}
