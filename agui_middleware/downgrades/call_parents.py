"""A tool call whose parent is not the client's newest message, or not an assistant's.

Before 0.0.52 a client attaches a call to its newest message, whatever the role, if that is the parent, and makes another
message of the parent's id if it is not. 1.0.0 finds the parent where it stands, and gives the call a message of its own,
under the call's id, where the parent is not an assistant's.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import Context, touches


@touches(*OPENERS, *OTHERS)
async def without_older_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Take `parentMessageId` off calls that the client would attach to another message, so that they get their own."""
    roster = Roster(context.client)
    async for event in events:
        parent = event.head.parentMessageId
        if event.head.type == "TOOL_CALL_START" and isinstance(parent, str) and parent in roster.roles:
            if roster.roles[parent] != "assistant":
                event = event.without("parentMessageId")
            elif parent != roster.last:
                context.lost("the message of a tool call", "this release attaches calls to its newest only", "0.0.52")
                event = event.without("parentMessageId")
        roster.take(event)
        yield event
