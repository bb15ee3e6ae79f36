"""A tool call that is continued after its END.

Before 0.0.58 a client makes a second call of the same id there, without arguments, often in a message of its own, and
appends what follows to the first one. From 0.0.37 on any number of calls may be open, so a call is kept open for as long
as it may be continued: its END leaves with its result, or with the end of the run.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.messages import calls_of, messages_of

_OF_A_CALL = ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT")
_OF_THE_RUN = ("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT")


@handles(*_OF_A_CALL, *_OF_THE_RUN)
async def without_reopened_calls(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Hold back the END of tool calls.

    What is added to a call after its result or in a later run, or to one that a snapshot or an echo brought, is dropped.
    A run in which a call is opened twice, ended twice, continued without a START or left open stays one that is rejected.
    Raises `EventTooLarge` where more than `Settings.max_event_bytes` would be held back.
    """
    calls = _Calls(context)
    events.skipped = TOKENS
    async for event in events:
        for held in calls.due(event):
            context.release(held)
            yield held
        if calls.passes(event):
            yield event
        events.skipped = () if calls.dropped or calls.ends else TOKENS
    for end in calls.ends.values():
        yield end


class _Calls:
    """The calls that the client holds, and the ENDs of those that are kept open."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: Index[str, Any] = Index(context.budget)
        self._open: Index[str, Any] = Index(context.budget)  # those of the agent, whose END has not come
        self.dropped: Index[str, Event] = Index(context.budget)  # the STARTs of finished ones that are being added to
        self.ends: Index[str, Event] = Index(context.budget)

    def due(self, event: Event) -> list[Event]:
        """What leaves before `event`: ENDs, and the STARTs of calls that a run leaves open."""
        type, id = event.head.type, event.head.toolCallId
        if type == "MESSAGES_SNAPSHOT":
            self._known.clear()
            self._known.update((id, True) for id in _restated(event))
            due = [id for id in self.ends if id not in self._known]
        elif type == "RUN_STARTED":
            self._known.update((id, True) for id in _restated(event))
            self._open.clear()
            return []
        elif type in _OF_THE_RUN:
            held = [*self.ends.values(), *self.dropped.values()]
            if type == "RUN_ERROR":  # which may leave calls open
                for start in self.dropped.values():
                    self._context.release(start)
                held = [*self.ends.values()]
            self.ends.clear()
            self.dropped.clear()
            return held
        elif type == "TOOL_CALL_START" and isinstance(id, str) and id in self.dropped:
            self._open.add(id)
            return [self.dropped.pop(id)]  # it is opened twice
        else:
            due = [id] if type != "TOOL_CALL_START" and isinstance(id, str) and id in self.ends else []
        return [self.ends.pop(id) for id in due]

    def passes(self, event: Event) -> bool:
        """Whether `event` leaves now; an END may leave later."""
        type, id = event.head.type, event.head.toolCallId
        if type in _OF_THE_RUN or not isinstance(id, str) or type == "TOOL_CALL_RESULT":
            return True
        if type == "TOOL_CALL_START":
            return self._starts(event, id)
        if type == "TOOL_CALL_ARGS":
            return id not in self.dropped
        if (start := self.dropped.pop(id, None)) is not None:
            self._context.release(start)
            return False
        kept_open = id in self._open and id in self._known
        self._open.discard(id)
        if kept_open:
            self._context.hold(event)
            self.ends[id] = event
        return not kept_open

    def _starts(self, event: Event, id: str) -> bool:
        if id in self._open:
            return True
        end = self.ends.pop(id, None)
        if end is not None:
            self._context.release(end)
        elif id in self._known:
            self._context.hold(event)
            self.dropped[id] = event
            self._context.lost("what is added to a finished tool call", "this release would show it twice", "0.0.58")
            return False
        self._open.add(id)
        self._known.add(id)
        return end is None


def _restated(event: Event) -> Iterator[str]:
    """The ids of the calls in a snapshot or an echo."""
    for message in messages_of(event) or ():
        for call in calls_of(message):
            if isinstance(id := call.get("id"), str):
                yield id
