"""Tool calls that name reasoning, an activity or a result as their parent.

Such messages cannot hold calls, so clients create a message of its own for the call. Clients that do not have the parent
(reasoning before 0.0.45, activities before 0.0.41, results before 0.0.30) create a message with the parent's id instead.
"""

from collections.abc import AsyncIterator
from typing import Final

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.releases import ClientVersion

_FIRST_WITH: Final = {
    "reasoning": ClientVersion(0, 0, 45),
    "activity": ClientVersion(0, 0, 41),
    "tool": ClientVersion(0, 0, 30),
}


@handles(*MAKES_MESSAGES)
async def without_lost_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Remove `parentMessageId` from calls whose parent the client does not get."""
    lost = [role for role, first in _FIRST_WITH.items() if context.client is not None and context.client < first]
    client_messages = ClientMessages(None, context.budget)
    async for event in events:
        parent = event.head.parentMessageId
        if (
            event.head.type == "TOOL_CALL_START"
            and isinstance(parent, str)
            and client_messages.roles.get(parent) in lost
        ):
            event = event.without("parentMessageId")
        client_messages.take(event)
        yield event
