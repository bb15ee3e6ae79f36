"""Tool calls whose parent is not the client's newest message, or not an assistant message.

Clients before 0.0.52 attach a call to their newest message, whatever its role, if that is the parent, and otherwise create
another message with the parent's id. 1.0.0 finds the parent anywhere in the conversation; if it is not an assistant
message, the call gets a message of its own, with the call's id.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles(*MAKES_MESSAGES)
async def without_older_call_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Remove the parent of calls that the client would attach to a wrong message: they get a message of their own."""
    client_messages = ClientMessages(context.client, context.budget)
    async for event in events:
        parent = event.head.parentMessageId
        if event.head.type == "TOOL_CALL_START" and isinstance(parent, str):
            role = client_messages.roles.get(parent)
            if role == "assistant" and parent != client_messages.last:
                context.lost("the message of a tool call", "this release attaches calls to its newest only", "0.0.52")
                event = event.replace(parentMessageId=_holder_of(event.head.toolCallId))
            elif role not in (None, "assistant"):
                event = event.without("parentMessageId")
        client_messages.take(event)
        yield event


def _holder_of(call: Any) -> str:
    """The id of a message that the client does not have, and creates.

    Not the call's own id, which clients use for the message of a call without a parent: LangGraph and .NET servers use
    that id for the call's result, and the client would have two messages of that id.
    """
    return f"{call}-message"
