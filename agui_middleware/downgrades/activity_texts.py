"""Text and reasoning under the id of an activity.

An id names one message, so 1.0.0 keeps the activity and drops the text. Older releases overwrite the activity: with texts
before 0.0.59, with reasoning before 1.0.0. Up to 0.0.40, which has no activities, the text would become a message.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, handles, per_event
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event

_STARTS = ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START")
_CONTENTS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT")
_ENDS = ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END")
_START, _CONTENT, _CHUNK = (f"REASONING_MESSAGE_{part}" for part in ("START", "CONTENT", "CHUNK"))
_OTHER_CHUNKS = ("TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK")


@per_event(*MAKES_MESSAGES, *_CONTENTS, *_ENDS, repeats=_CONTENTS)
def without_activity_texts(context: Context) -> Step:
    """Drop the text. Messages that were opened before the activity took over their id are still closed."""
    client_messages = ClientMessages(None, context.budget)
    dropped: Index[tuple[str, str], Any] = Index(context.budget)

    def show(event: Event) -> Event | None:
        type, id = event.head.type, event.head.messageId
        if isinstance(id, str):
            taken = client_messages.roles.get(id) == "activity"
            if type in _CONTENTS:
                return None if taken or (dropped and (type[:4], id) in dropped) else event
            text = (type[:4], id)
            if type in _STARTS and taken:
                dropped.add(text)
                return None
            if type in _ENDS and text in dropped:
                del dropped[text]
                return None
        client_messages.take(event)
        return event

    return show


@handles(*MAKES_MESSAGES, *_OTHER_CHUNKS, _CONTENT, _CHUNK)
async def without_activity_reasoning(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Drop what reasoning would write over an activity.

    START and END events stay: they close chunks, which 0.0.59, unlike earlier releases, expands itself. Content closes
    chunks too, so it becomes another START: 0.0.59 accepts any number of them.
    """
    client_messages = ClientMessages(None, context.budget)
    closed: Index[str | None, Any] = Index(context.budget)  # the subagents whose chunks are
    events.skipped = _OTHER_CHUNKS
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if closed and (type == _CHUNK or type in _OTHER_CHUNKS):
            closed.discard(_owner(event))
        if isinstance(id, str) and client_messages.roles.get(id) == "activity":
            if type == _CONTENT and _owner(event) in closed:
                continue
            event = _without_delta(event)
            if event.head.type == _START:
                closed.add(_owner(event))
                events.skipped = ()
        client_messages.take(event)
        yield event


def _owner(event: Event) -> str | None:
    tag = event.head.subagentRunId
    return tag if isinstance(tag, str) else None


def _without_delta(event: Event) -> Event:
    """Return an event that adds nothing to a message: a START in place of content."""
    if event.head.type == _CONTENT:
        return event.replace(type=_START, role="reasoning").without("delta", "metadata")
    return event.without("delta") if event.head.type == _CHUNK else event
