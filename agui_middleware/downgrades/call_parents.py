"""A tool call whose parent is not the client's newest message, or not an assistant's.

Before 0.0.52 a client attaches a call to its newest message, whatever the role, if that is the parent, and makes another
message of the parent's id if it is not. 1.0.0 finds the parent where it stands, and gives the call a message of its own,
under the call's id, where the parent is not an assistant's.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import Context, touches


@touches(*OPENERS, *OTHERS)
async def without_older_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Take `parentMessageId` off calls that the client would attach to another message, so that they get their own.

    Where a message has the call's id already, the call goes to the newest message, if that is an assistant's.
    """
    roster = Roster(context.client)
    calls: set[Any] = set()
    async for event in events:
        if event.head.type == "TOOL_CALL_START":
            attachable = _attachable(event, roster, event.head.toolCallId in calls)
            if attachable is not event:
                context.lost("the message of a tool call", "this release attaches calls to its newest only", "0.0.52")
            event = attachable
            calls.add(event.head.toolCallId)
        roster.take(event)
        yield event


def _attachable(call: Event, roster: Roster, known: bool) -> Event:
    id, parent, last = call.head.toolCallId, call.head.parentMessageId, roster.last
    role = roster.roles.get(parent) if isinstance(parent, str) else None
    if role is None or (role == "assistant" and parent == last):
        return call
    taken = id in roster.roles and not known
    if role == "assistant" and taken and last is not None and roster.roles[last] == "assistant":
        return call.replace(parentMessageId=last)
    return call.without("parentMessageId")
