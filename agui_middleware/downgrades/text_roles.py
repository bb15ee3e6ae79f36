"""Texts of other roles than the assistant's.

Up to 0.0.36 a client rejects a TEXT_MESSAGE_START whose role is absent or not `assistant`. An absent role means the
assistant's. A text of another role has no place: as the assistant's it would be sent back as what the assistant said.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import TOKENS, Context, overlook, touches

_FOREIGN = ("user", "system", "developer")
_CONTINUED = ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")


@touches(*OPENERS, *OTHERS, *_CONTINUED, dozes=True)
async def assistant_texts(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Name the assistant's role, and drop the texts of others.

    A text that continues a message is of the role which that message had first.
    """
    roster = Roster(None)
    dropped: set[str] = set()  # the messages that are open, and not the assistant's
    overlook(events, TOKENS)
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if type == "TEXT_MESSAGE_START" and isinstance(id, str):
            speaker = roster.roles.get(id) or event.get("role", "assistant")
            roster.take(event)
            if speaker in _FOREIGN:
                context.lost("texts that are not the assistant's", "this release reads no others", "0.0.37")
                dropped.add(id)
                overlook(events, ())
                continue
            if event.get("role", "user") in _FOREIGN:
                event = event.replace(role="assistant")
        elif type in _CONTINUED and isinstance(id, str) and id in dropped:
            if type == "TEXT_MESSAGE_END":
                dropped.remove(id)
                overlook(events, () if dropped else TOKENS)
            continue
        roster.take(event)
        yield event
