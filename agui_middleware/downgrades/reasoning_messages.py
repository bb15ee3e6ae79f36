"""Reasoning in the conversation: messages of the role `reasoning`.

Before 0.0.45 a client rejects a snapshot or an input echo that holds one.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_messages


@handles("MESSAGES_SNAPSHOT", "RUN_STARTED")
async def without_reasoning_messages(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop messages of the role `reasoning`."""

    def keep(message: JsonObject) -> JsonObject | None:
        if message.get("role") != "reasoning":
            return message
        context.lost("reasoning messages", "a model's reasoning in the conversation", "0.0.45")
        return None

    async for event in events:
        yield edit_messages(event, keep) if event.may_contain(b'"reasoning"') else event
