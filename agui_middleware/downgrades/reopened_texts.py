"""A text message that is continued after its END.

Before 0.0.44 a client makes a second message of the same id there, and appends what follows to the first one; up to 0.0.36
it appends to the second. From 0.0.37 on any number of messages may be open, so a message is kept open for as long as it
may be continued: its END leaves with the end of the run.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from agui_middleware.downgrades.client_messages import MAKES_MESSAGES, ClientMessages
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.messages import messages_of

_OF_A_TEXT = ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END")
_RELEASING = ("MESSAGES_SNAPSHOT", "RUN_FINISHED", "RUN_ERROR")


@handles(*MAKES_MESSAGES, *_OF_A_TEXT, *_RELEASING)
async def without_reopened_texts(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Hold back the END of texts.

    A message that was not opened in this run, but brought by a snapshot, an echo, a tool call or an earlier run, cannot be
    spared its second one: it stays empty. A text that is ended twice, or goes on without a START, is still rejected.
    Raises `EventTooLarge` where more than `Settings.max_event_bytes` would be held back.
    """
    texts = _Texts(context)
    events.skipped = TOKENS
    async for event in events:
        for leaving in texts.take(event):
            yield leaving
        events.skipped = () if texts.ends else TOKENS
    for end in texts.ends.values():
        yield end


class _Texts:
    """The texts that the client got in this run, and the ENDs of those that are kept open."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._roster = ClientMessages(context.client, context.budget)
        self._opened: Index[str, Any] = Index(context.budget)
        self.ends: Index[str, Event] = Index(context.budget)

    def take(self, event: Event) -> Iterator[Event]:
        """What leaves when `event` comes."""
        type, id = event.head.type, event.head.messageId
        if type in _OF_A_TEXT and isinstance(id, str):
            yield from self._take_of(event, id)
        else:
            if type in _RELEASING:
                kept = _restated(event) & self._opened.keys() if type == "MESSAGES_SNAPSHOT" else set()
                self._opened.clear()
                self._opened.update((id, True) for id in kept)
                for gone in [id for id in self.ends if id not in self._opened]:
                    end = self.ends.pop(gone)
                    self._context.release(end)
                    yield end
            yield event
        self._roster.take(event)

    def _take_of(self, event: Event, id: str) -> Iterator[Event]:
        end = self.ends.pop(id, None)
        if end is not None:
            self._context.release(end)
        if event.head.type == "TEXT_MESSAGE_START":
            if id in self._roster.roles and id not in self._opened:
                self._context.lost("a text in one piece", "this release shows a second, empty message", "0.0.44")
            self._opened.add(id)
            if end is None:
                yield event
        elif event.head.type == "TEXT_MESSAGE_END" and end is None and id in self._opened:
            self._context.hold(event)
            self.ends[id] = event
        else:
            if end is not None:
                yield end
            yield event


def _restated(snapshot: Event) -> set[str]:
    """The ids of the messages in a snapshot."""
    messages = messages_of(snapshot) or ()
    return {id for message in messages if isinstance(message, JsonObject) and isinstance(id := message.get("id"), str)}
