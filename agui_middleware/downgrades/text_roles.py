"""Texts of other roles than the assistant's.

Up to 0.0.36 a client rejects a TEXT_MESSAGE_START whose role is absent or not `assistant`. An absent role means the
assistant's. A text of another role has no place: as the assistant's it would be sent back as what the assistant said.
"""

from agui_middleware.downgrades.client_messages import OPENERS, OTHERS, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event

_FOREIGN = ("user", "system", "developer")
_CONTINUED = ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")


@per_event(*OPENERS, *OTHERS, *_CONTINUED)
def assistant_texts(context: Context) -> Step:
    """Name the assistant's role, and drop the texts of others.

    A text that continues a message is of the role which that message had first.
    """
    roster = ClientMessages(None)
    dropped: set[str] = set()  # the messages that are open, and not the assistant's

    def show(event: Event) -> Event | None:
        type, id = event.head.type, event.head.messageId
        if type in _CONTINUED:
            if not isinstance(id, str) or id not in dropped:
                return event
            if type == "TEXT_MESSAGE_END":
                dropped.remove(id)
            return None
        if type == "TEXT_MESSAGE_START" and isinstance(id, str):
            speaker = roster.roles.get(id) or event.get("role", "assistant")
            if speaker in _FOREIGN:
                roster.take(event)
                context.lost("texts that are not the assistant's", "this release reads no others", "0.0.37")
                dropped.add(id)
                return None
            if event.get("role", "user") in _FOREIGN:
                event = event.replace(role="assistant")
        roster.take(event)
        return event

    return show
