"""Activities.

Clients up to 0.0.40 reject a run with an ACTIVITY_* event or a message of role `activity`.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_messages


@handles("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "MESSAGES_SNAPSHOT")
async def without_activities(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop activities, and the messages that restate them."""

    def keep(message: JsonObject) -> JsonObject | None:
        if message.get("role") != "activity":
            return message
        context.lost("activities", "what an agent shows of its progress", "0.0.41")
        return None

    async for event in events:
        if event.head.type == "MESSAGES_SNAPSHOT":
            yield edit_messages(event, keep) if event.may_contain(b'"activity"') else event
        else:
            context.lost("activities", "what an agent shows of its progress", "0.0.41")
