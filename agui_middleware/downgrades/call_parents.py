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
        if event.head.type == "TOOL_CALL_START":
            event = _attachable(event, roster, context)
        roster.take(event)
        yield event


def _attachable(call: Event, roster: Roster, context: Context) -> Event:
    parent, roles = call.head.parentMessageId, roster.roles
    if not isinstance(parent, str) or parent not in roles or (parent == roster.last and roles[parent] == "assistant"):
        return call
    if roles[parent] == "assistant":
        context.lost("the message that a tool call belongs to", "this release attaches to its newest only", "0.0.52")
        if call.head.toolCallId in roles and roster.last is not None and roles[roster.last] == "assistant":
            return call.replace(parentMessageId=roster.last)  # under its own id there is a message already
    return call.without("parentMessageId")
