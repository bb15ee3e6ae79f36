"""A tool call whose parent is not the client's newest message, or not an assistant's.

Before 0.0.52 a client attaches a call to its newest message, whatever the role, if that is the parent, and makes another
message of the parent's id if it is not. 1.0.0 finds the parent where it stands, and gives the call a message of its own,
under the call's id, where the parent is not an assistant's.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles(*MAKES_MESSAGES)
async def without_older_call_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Give calls that the client would attach to another message a message of their own."""
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
    """The id of a message that the client has not got, and so makes.

    Not the call's own id, which a client gives the message of a call without a parent: LangGraph and .NET servers give the
    call's result that id, and the client would have two messages of it.
    """
    return f"{call}-message"
