"""Messages of the roles `activity` and `reasoning` in MESSAGES_SNAPSHOT and in an input echo.

Kotlin drops the whole snapshot for one of them, C++ and Java end the run. TanStack knows reasoning, and makes an empty
assistant message of an activity, which it posts back with the next run.
"""

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_messages


def _without(*roles: str) -> Filter:
    words = [f'"{role}"'.encode() for role in roles]

    @per_event("MESSAGES_SNAPSHOT", INPUT_ECHO)
    def without_roles(context: Context) -> Step:
        def keep(message: JsonObject) -> JsonObject | None:
            if message.get("role") not in roles:
                return message
            context.lost(f"{message['role']} messages", "messages of this role in a snapshot or an input echo")
            return None

        def show(event: Event) -> Event:
            return edit_messages(event, keep) if event.may_contain(*words) else event

        return show

    return without_roles


without_activity_messages: Filter = _without("activity")
without_special_messages: Filter = _without("activity", "reasoning")
