"""User messages in content parts.

Up to 0.0.40 the content of a message is a string, and a client rejects the snapshot that brings a list.
"""

from agui_middleware.downgrades.content_parts import joined
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_messages


@per_event("MESSAGES_SNAPSHOT")
def join_user_parts(context: Context) -> Step:
    """Join the text parts of user messages, the empty string where there are none."""

    def join(message: JsonObject) -> JsonObject:
        if message.get("role") != "user":
            return message
        message, lossy = joined(message)
        if lossy:
            context.lost("user parts", "the media in a user's message", "0.0.41")
        return message

    return lambda event: edit_messages(event, join)
