"""A tool call whose parent is not the client's newest message, or not an assistant's.

Before 0.0.52 a client attaches a call to its newest message, whatever the role, if that is the parent, and makes another
message of the parent's id if it is not. 1.0.0 finds the parent where it stands, and gives the call a message of its own,
under the call's id, where the parent is not an assistant's.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.downgrades.client_messages import OPENERS, OTHERS, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.messages import edit_messages


@handles(*OPENERS, *OTHERS)
async def without_older_parents(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Take `parentMessageId` off calls that the client would attach to another message, so that they get their own."""
    roster, own = ClientMessages(context.client), _Own()
    async for event in events:
        if event.head.type == "TOOL_CALL_START":
            parent = event.head.parentMessageId
            role = roster.roles.get(parent) if isinstance(parent, str) else None
            if role == "assistant" and parent != roster.last:
                context.lost("the message of a tool call", "this release attaches calls to its newest only", "0.0.52")
                own.begin(event.head.toolCallId)
            if role is not None and (role != "assistant" or parent != roster.last):
                event = event.without("parentMessageId")
        elif event.head.type == "TOOL_CALL_RESULT":
            own.answer(event.head.messageId)
        elif event.head.type == "MESSAGES_SNAPSHOT" and (first := own.before(event)) and roster.merges:
            yield first
        roster.take(event)
        yield event


class _Own:
    """The messages that calls get where 1.0.0 finds the parent, until a snapshot deletes them.

    LangGraph and agno give a result the id of its call, and so of that message. A snapshot that restates the result puts it
    in the place of both; one without it, sent before, deletes both.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._answers: set[str] = set()

    def begin(self, id: Any) -> None:
        """Take note of a call that gets its own message."""
        self._ids |= {id} if isinstance(id, str) else set()

    def answer(self, id: Any) -> None:
        """Take note of a result."""
        self._answers |= self._ids & ({id} if isinstance(id, str) else set())

    def before(self, snapshot: Event) -> Event | None:
        """What has to come before a snapshot."""
        answers, self._ids, self._answers = self._answers, set(), set()
        if not answers:
            return None
        doubled = tuple(answers)  # an id may be anything, also what cannot be in a set
        first = edit_messages(snapshot, lambda message: None if message.get("id") in doubled else message)
        return None if first is snapshot else first
