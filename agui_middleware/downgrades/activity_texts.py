"""Text and reasoning under the id of an activity.

An id is that of one message, so 1.0.0 leaves the activity as it is and drops the text. Older releases write over the
activity: before 0.0.59 with texts, before 1.0.0 with reasoning; up to 0.0.40, which has no activities, it would be a
message.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import Context, touches

_STARTS = frozenset({"TEXT_MESSAGE_START", "REASONING_MESSAGE_START"})
_CONTENTS = frozenset({"TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT"})
_ENDS = frozenset({"TEXT_MESSAGE_END", "REASONING_MESSAGE_END"})


@touches(*OPENERS, *OTHERS, *_CONTENTS, *_ENDS)
async def without_activity_texts(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Drop it. What was opened before the activity took its id over is closed all the same."""
    roster = Roster(None)
    dropped: set[Any] = set()
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if isinstance(id, str):
            taken = roster.roles.get(id) == "activity"
            stream = type[:4], id
            if type in _STARTS and taken:
                dropped.add(stream)
                continue
            if type in _CONTENTS and (taken or stream in dropped):
                continue
            if type in _ENDS and stream in dropped:
                dropped.remove(stream)
                continue
        roster.take(event)
        yield event
