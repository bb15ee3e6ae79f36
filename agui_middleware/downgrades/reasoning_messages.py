"""Reasoning in the conversation: messages of the role `reasoning`.

Before 0.0.45 a client rejects a snapshot or an input echo that holds one.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_messages


@per_event("MESSAGES_SNAPSHOT", INPUT_ECHO)
def without_reasoning_messages(context: Context) -> Step:
    """Drop messages of the role `reasoning`."""

    def keep(message: JsonObject) -> JsonObject | None:
        if message.get("role") != "reasoning":
            return message
        context.lost("reasoning messages", "a model's reasoning in the conversation", "0.0.45")
        return None

    return lambda event: edit_messages(event, keep) if event.may_contain(b'"reasoning"') else event
