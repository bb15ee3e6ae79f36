"""Reasoning as it streams: REASONING_* for clients that know THINKING_* instead.

Releases 0.0.37 to 0.0.44 show thinking and keep none of it. They have one span, and inside it one message at a time, and
ids for neither: overlapping spans become one, and of overlapping messages the later ones wait for the first to end.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event

_THINKING: Final = {
    "REASONING_START": "THINKING_START",
    "REASONING_END": "THINKING_END",
    "REASONING_MESSAGE_START": "THINKING_TEXT_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT": "THINKING_TEXT_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END": "THINKING_TEXT_MESSAGE_END",
}
_RUN: Final = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR")


@handles(*_THINKING, *_RUN)
async def reasoning_as_thinking(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Turn REASONING_* into THINKING_*. What continues nothing stays, and the guard drops it."""
    thinking = Thinking(context)
    async for event in events:
        if event.head.type in _RUN:
            for piece in thinking.stop():
                yield piece
            yield event
            continue
        context.lost("reasoning", "reasoning in the conversation; it is shown while it streams, and not kept", "0.0.45")
        for piece in thinking.take(event):
            yield piece


class Thinking:
    """What of a run's reasoning the client is shown, and what waits."""

    __slots__ = ("_context", "_message", "_open", "_order", "_spans", "_waiting")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open = False
        self._spans: Index[str, Any] = Index(context.budget)
        self._message: str | None = None  # the one that the client is shown
        self._waiting: Index[str, list[Event]] = Index(context.budget)
        # Their order. A dict would step over all that has left, each time that it is asked for its first key.
        self._order: deque[str] = deque()

    def take(self, event: Event) -> Iterator[Event]:
        """What a REASONING_* event becomes."""
        type, id = event.head.type, event.head.messageId
        if not isinstance(id, str):
            yield event
        elif type == "REASONING_START":
            self._spans.add(id)
            if not self._open:
                yield _thinking(event)
            self._open = True
        elif type == "REASONING_END":
            self._spans.discard(id)
            if self._idle():
                yield _thinking(event)
                self._open = False
        else:
            yield from self._take_message(event, id)

    def stop(self) -> Iterator[Event]:
        """Close what is open, and let out what waits: a run starts or ends."""
        while self._message is not None:
            yield Event(type="THINKING_TEXT_MESSAGE_END")
            yield from self._next()
        if self._open:
            yield Event(type="THINKING_END")
        self._spans.clear()
        self._open = False

    def _take_message(self, event: Event, id: str) -> Iterator[Event]:
        starts = event.head.type == "REASONING_MESSAGE_START"
        if id in self._waiting or (starts and self._message not in (None, id)):
            self._context.hold(event)
            if id not in self._waiting:
                self._waiting[id] = []
                self._order.append(id)
            self._waiting[id].append(event)
        elif starts:
            if not self._open:
                yield Event(type="THINKING_START")
            self._open, self._message = True, id
            yield _thinking(event)
        elif id == self._message:
            yield _thinking(event)
            if event.head.type == "REASONING_MESSAGE_END":
                yield from self._next()
                yield from self._end()
        else:
            yield event

    def _next(self) -> Iterator[Event]:
        """Let out what waits, up to a message that is still open."""
        self._message = None
        while self._order and self._message is None:
            id = self._order.popleft()
            held = self._waiting.pop(id)
            for event in held:
                self._context.release(event)
                yield _thinking(event)
            self._message = None if held[-1].head.type == "REASONING_MESSAGE_END" else id

    def _end(self) -> Iterator[Event]:
        if self._idle():
            yield Event(type="THINKING_END")
            self._open = False

    def _idle(self) -> bool:
        return self._open and not self._spans and self._message is None


def _thinking(event: Event) -> Event:
    return event.replace(type=_THINKING[event.head.type]).without("messageId", "role")
