"""Message roles, content part types and part sources that AG-UI 1.0 does not know.

1.0.0 leaves out the message or the part, and reads the rest; every client before it rejects the run. What they miss is what
1.0.0 misses, so it is reported without a release that keeps it.
"""

from typing import Any, Final

from agui_middleware.downgrades.content_parts import MEDIA, is_media
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_elements, edit_messages

_ROLES: Final = frozenset({"developer", "system", "assistant", "user", "tool", "activity", "reasoning"})
_PARTS: Final = MEDIA | {"text", "binary"}
_SOURCES: Final = frozenset({"data", "url", "file"})


@per_event("MESSAGES_SNAPSHOT", INPUT_ECHO)
def without_unknown_members(context: Context) -> Step:
    """Drop messages of an unknown role, and parts of messages that are of an unknown type or have an unknown source."""

    def keep_part(part: JsonObject) -> JsonObject | None:
        if _known(part.get("type"), _PARTS) and _has_known_source(part):
            return part
        context.lost("content parts", "parts of messages whose type no known release reads")
        return None

    def keep_message(message: JsonObject) -> JsonObject | None:
        if _known(message.get("role"), _ROLES):
            return edit_elements(message, "content", keep_part)
        context.lost("messages", "messages of a role that no known release reads")
        return None

    return lambda event: edit_messages(event, keep_message)


def _has_known_source(part: JsonObject) -> bool:
    source = part.get_object("source") if is_media(part) else None
    return source is None or _known(source.get("type"), _SOURCES)


def _known(value: Any, values: frozenset[str]) -> bool:
    return isinstance(value, str) and value in values
