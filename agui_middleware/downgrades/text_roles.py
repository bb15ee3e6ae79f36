"""Texts of other roles than the assistant's.

Up to 0.0.36 a client rejects a TEXT_MESSAGE_START whose role is absent or not `assistant`. An absent role means the
assistant's. A text of another role has no place: as the assistant's it would be sent back as what the assistant said.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import Context, touches

_FOREIGN = ("user", "system", "developer")
_CONTINUED = ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")


@touches(*OPENERS, *OTHERS, *_CONTINUED)
async def assistant_texts(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Name the assistant's role, and drop the texts of others.

    A text that continues a message is of the role which that message had first. A tool call that names a dropped text
    gets a message of its own, as 1.0.0 does where the parent is not an assistant's.
    """
    roster = Roster(None)
    absent: set[str] = set()  # the messages whose text was dropped
    dropped: set[str] = set()  # those of them that are open
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if type == "TEXT_MESSAGE_START" and isinstance(id, str):
            speaker = roster.roles.get(id) or event.get("role", "assistant")
            roster.take(event)
            if speaker in _FOREIGN:
                context.lost("texts that are not the assistant's", "this release reads no others", "0.0.37")
                absent.add(id)
                dropped.add(id)
                continue
            if event.get("role", "user") in _FOREIGN:
                event = event.replace(role="assistant")
        elif type in _CONTINUED and isinstance(id, str) and id in dropped:
            if type == "TEXT_MESSAGE_END":
                dropped.remove(id)
            continue
        elif type == "TOOL_CALL_START" and isinstance(parent := event.head.parentMessageId, str) and parent in absent:
            event = event.without("parentMessageId")
        roster.take(event)
        yield event
