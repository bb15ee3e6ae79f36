"""A user's text in a list of parts: .NET's AGUI.Client posts such a list for every message, even for a plain text."""

from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.posted import Posted


def text_parts_as_text(posted: Posted) -> Posted:
    """Turn a list of a single text into a string. A text with an `id` or `metadata` stays a part."""
    return posted.edit(_message, containing=b'"text"')


def _message(message: JsonObject) -> JsonObject:
    parts = message.get_list("content") if message.get("role") == "user" else None
    if parts is None or len(parts) != 1 or not isinstance(part := parts[0], JsonObject):
        return message
    is_text = part.get("type") == "text" and isinstance(part.get("text"), str) and len(part) == 2
    return message.replace(content=part["text"]) if is_text else message
