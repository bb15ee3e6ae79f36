"""A text message that is continued after its END.

Before 0.0.44 a client makes a second message of the same id there, and appends what follows to the first one; up to 0.0.36
it appends to the second. From 0.0.37 on any number of messages may be open, so a message is kept open for as long as it
may be continued: its END leaves with the end of the run.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.roster import OPENERS, OTHERS, Roster
from agui_middleware.event import Event
from agui_middleware.filters.contract import Context, touches

_OF_A_TEXT = ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
_TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


@touches(*OPENERS, *OTHERS, *_OF_A_TEXT, *_TERMINAL)
async def keep_texts_open(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Hold back the END of texts.

    A message that was not opened in this run, but brought by a snapshot, an echo, a tool call or an earlier run, cannot be
    spared its second one. That is opened with the first thing that it adds, and not at all if it adds nothing.
    """
    texts = _Texts(context)
    async for event in events:
        for due in texts.due(event):
            yield due
        if texts.passes(event):
            yield event
    for end in texts.ends.values():
        yield end


class _Texts:
    """The messages that the client holds, and the ENDs of those that are kept open."""

    def __init__(self, context: Context) -> None:
        self._roster = Roster(context.client)
        self._starts: dict[str, Event] = {}  # of messages that the client holds already
        self.ends: dict[str, Event] = {}

    def due(self, event: Event) -> list[Event]:
        """What leaves before `event`."""
        type, id = event.head.type, event.head.messageId
        if type == "TEXT_MESSAGE_CONTENT":
            held = isinstance(id, str) and id in self._starts and id in self._roster.roles
            return [self._starts.pop(id)] if held else []
        if type in _TERMINAL:
            self._starts.clear()
            gone = [*self.ends]
        elif type == "MESSAGES_SNAPSHOT":
            self._roster.take(event)
            gone = [id for id in self.ends if id not in self._roster.roles]
        else:
            return []
        return [self.ends.pop(id) for id in gone]

    def passes(self, event: Event) -> bool:
        """Whether `event` leaves now; a START or an END may leave later, or never."""
        type, id = event.head.type, event.head.messageId
        if type in _OF_A_TEXT and isinstance(id, str):
            return self._continues(event, type, id)
        if type != "MESSAGES_SNAPSHOT":
            self._roster.take(event)
        return True

    def _continues(self, event: Event, type: str, id: str) -> bool:
        if type == "TEXT_MESSAGE_START" and id in self._roster.roles:
            if self.ends.pop(id, None) is None:
                self._starts[id] = event
            return False
        if type == "TEXT_MESSAGE_CONTENT":
            return id not in self._starts  # a snapshot has taken the message away
        if type == "TEXT_MESSAGE_END" and (id in self._starts or id in self._roster.roles):
            if self._starts.pop(id, None) is None:
                self.ends[id] = event
            return False
        self._roster.take(event)
        return True
