"""Texts of other roles than the assistant's.

Up to 0.0.36 a client rejects a TEXT_MESSAGE_START whose role is absent or not `assistant`. An absent role means the
assistant's. A text of another role has no place: as the assistant's it would be sent back as what the assistant said.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import TOKENS

_FOREIGN = ("user", "system", "developer")
_CONTINUED = ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")


@handles(*MAKES_MESSAGES, *_CONTINUED, "RUN_FINISHED")
async def with_assistant_text_roles(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Name the assistant's role, and drop the texts of others.

    A text that continues a message is of the role which that message had first. One that is opened twice, or left open at
    the end of the run, is not dropped: the client has to reject it.
    """
    client_messages = ClientMessages(None, context.budget)
    dropped: Index[str, Event] = Index(context.budget)  # the STARTs of texts that are open, and not the assistant's
    events.skipped = TOKENS
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if type == "RUN_FINISHED":
            for left_open in dropped.values():
                context.release(left_open)
                yield left_open
            dropped.clear()
        elif type in _CONTINUED:
            if isinstance(id, str) and id in dropped:
                if type == "TEXT_MESSAGE_END":
                    context.release(dropped.pop(id))
                events.skipped = () if dropped else TOKENS
                continue
        elif type == "TEXT_MESSAGE_START" and isinstance(id, str):
            speaker = client_messages.roles.get(id) or event.get("role", "assistant")
            if speaker in _FOREIGN and id not in dropped:
                client_messages.take(event)
                context.lost("texts that are not the assistant's", "this release reads no others", "0.0.37")
                context.hold(event)
                dropped[id] = event
                events.skipped = ()
                continue
            if id in dropped:
                context.release(dropped[id])
                yield dropped.pop(id)
            elif event.get("role", "user") in _FOREIGN:
                event = event.replace(role="assistant")
        client_messages.take(event)
        yield event
