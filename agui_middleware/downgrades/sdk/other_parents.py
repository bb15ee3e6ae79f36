"""Tool calls whose parent is a message of the user's, or of another role that holds no calls.

@ag-ui/client makes a message of its own for such a call. TanStack's client attaches it to its parent, and posts neither the
call nor its result with the next run. Sources of typed SDKs do not check the parent's role either, and where an SDK hands
events on, its application would have to. AGUIChatClient and ragas look at no parent.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, as_id


@handles(*MAKES_MESSAGES)
async def without_other_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Remove `parentMessageId` from calls whose parent is not the assistant's."""
    messages = ClientMessages(None, context.budget)
    async for event in events:
        if event.head.type == "TOOL_CALL_START":
            parent = as_id(event.head.parentMessageId)
            if parent is not None and messages.roles.get(parent, "assistant") != "assistant":
                event = event.without("parentMessageId")
        messages.take(event)
        yield event
