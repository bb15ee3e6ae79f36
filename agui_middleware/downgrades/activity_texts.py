"""Text and reasoning under the id of an activity.

An id is that of one message, so 1.0.0 leaves the activity as it is and drops the text. Older releases write over the
activity: before 0.0.59 with texts, before 1.0.0 with reasoning; up to 0.0.40, which has no activities, it would be a
message of its own.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import TOKENS, Context, overlook, touches

_STARTS = ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START")
_CONTENTS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT")
_ENDS = ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END")
_CHUNK = "REASONING_MESSAGE_CHUNK"
_BRING = ("ACTIVITY_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_STARTED")


@touches(*OPENERS, *OTHERS, *_CONTENTS, *_ENDS, dozes=True)
async def without_activity_texts(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Drop it. What was opened before the activity took its id over is closed all the same."""
    roster = Roster(None)
    dropped: set[tuple[str, str]] = set()
    contested = False  # an activity took the id of a message over, which may still be open
    overlook(events, TOKENS)
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if isinstance(id, str):
            taken, text = roster.roles.get(id) == "activity", (type[:4], id)
            if type in _STARTS and taken:
                dropped.add(text)
                overlook(events, ())
                continue
            if type in _CONTENTS and (taken or text in dropped):
                continue
            if type in _ENDS and text in dropped:
                dropped.remove(text)
                overlook(events, () if dropped or contested else TOKENS)
                continue
        others = [id for id, role in roster.roles.items() if role != "activity"] if type in _BRING else []
        roster.take(event)
        if any(roster.roles.get(id) == "activity" for id in others):
            contested = True
            overlook(events, ())
        yield event


@touches(*OPENERS, *OTHERS, "REASONING_MESSAGE_CONTENT", _CHUNK)
async def without_activity_reasoning(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Drop what reasoning would write over an activity.

    Its opening and its end stay: they close the chunks that 0.0.59, unlike the releases before it, puts together itself.
    """
    roster = Roster(None)
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if isinstance(id, str) and roster.roles.get(id) == "activity":
            if type == "REASONING_MESSAGE_CONTENT":
                continue
            if type == _CHUNK:
                event = event.without("delta")
        roster.take(event)
        yield event
