"""Tool calls that are open at the same time.

AGUIChatClient gives all arguments to the call that started last, and drops those of the others. It reads texts that overlap
with each other and with calls, so texts stream on while a call waits: only calls queue.
"""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

import msgspec

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event

_ENDS_OF_A_RUN: Final = ("RUN_FINISHED", "RUN_ERROR")


class Call(msgspec.Struct, gc=False, eq=False):
    """A call that waits, with its events so far and its result."""

    events: list[Event]
    ended: bool = False


class Queue:
    """The call that the client has open, and those that wait for its end."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: str | None = None
        self._waiting: Index[str, Call] = Index(context.budget)  # by id
        self._order: deque[str] = deque()  # of their starts

    def take(self, event: Event) -> Iterator[Event]:
        """What leaves when an event of a call comes. Raises `EventTooLarge` where too much waits."""
        type, id = event.head.type, event.head.toolCallId
        if not isinstance(id, str):
            yield event  # belongs to no call; the client reports it
        elif id in self._waiting:
            self._wait(id, event)
        elif self._open not in (None, id) and type == "TOOL_CALL_START":
            self._waiting[id] = Call([])
            self._order.append(id)
            self._wait(id, event)
        else:
            yield event
            if type == "TOOL_CALL_START":
                self._open = id
            elif type == "TOOL_CALL_END" and id == self._open:
                yield from self._advance()

    def leave(self) -> Iterator[Event]:
        """All that waits, call by call: the run ends, with calls still open."""
        while self._open is not None:
            yield from self._advance()

    def close(self) -> Event:
        """The end of the call that the client has open; there is one wherever something waits."""
        return Event(type="TOOL_CALL_END", toolCallId=self._open)

    def _wait(self, id: Any, event: Event) -> None:
        self._context.hold(event)
        call = self._waiting[id]
        call.events.append(event)
        # A call may be continued after its end, or start again: then it is open once more.
        if event.head.type != "TOOL_CALL_RESULT":
            call.ended = event.head.type == "TOOL_CALL_END"

    def _advance(self) -> Iterator[Event]:
        self._open = None
        while self._order and self._open is None:
            id = self._order.popleft()
            call = self._waiting.pop(id)
            self._open = None if call.ended else id
            for event in call.events:
                self._context.release(event)
                yield event


@handles("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", *_ENDS_OF_A_RUN)
async def one_call_at_a_time(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Hold a call back while another one is open, until that ends; at the latest, until the run does.

    Raises `EventTooLarge` where more than `Settings.max_event_bytes` would wait.
    """
    queue = Queue(context)
    async for event in events:
        if event.head.type in _ENDS_OF_A_RUN:
            for leaving in queue.leave():
                yield leaving
            yield event
            continue
        try:
            for leaving in queue.take(event):
                yield leaving
        except EventTooLarge:
            yield queue.close()
            raise
    for leaving in queue.leave():
        yield leaving
