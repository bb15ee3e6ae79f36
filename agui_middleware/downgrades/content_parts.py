"""Content parts, shared by the downgrades that deal with them."""

from typing import Final, TypeVar

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import Edit, edit_elements, edit_messages

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
    """A message or result whose text parts became one string, and whether other parts got lost over it.

    The same object where its content is no list of parts, or holds one that no client reads.
    """
    parts = holder.get_list("content")
    if parts is None or not all(map(_is_well_formed, parts)):
        return holder, False
    texts = [part["text"] for part in parts if part.get("type") == "text"]
    return holder.replace(content="".join(texts)), len(texts) < len(parts)


def _is_well_formed(part: object) -> bool:
    return isinstance(part, JsonObject) and (part.get("type") != "text" or isinstance(part.get("text"), str))
