"""Activities.

Clients up to 0.0.40 reject a run with an ACTIVITY_* event or a message of role `activity`.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_messages


@per_event("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "MESSAGES_SNAPSHOT")
def without_activities(context: Context) -> Step:
    """Drop activities, and the messages that restate them."""

    def keep(message: JsonObject) -> JsonObject | None:
        if message.get("role") != "activity":
            return message
        context.lost("activities", "what an agent shows of its progress", "0.0.41")
        return None

    def without(event: Event) -> Event | None:
        if event.head.type == "MESSAGES_SNAPSHOT":
            return edit_messages(event, keep) if event.may_contain(b'"activity"') else event
        context.lost("activities", "what an agent shows of its progress", "0.0.41")
        return None

    return without
