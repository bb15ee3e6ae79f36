"""What is open in a run, where runs are joined: texts, tool calls, steps and reasoning, each by its id."""

from collections.abc import Iterator
from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_kind import SUBAGENT, Action
from agui_middleware.protocol.event_types import EVENT_KINDS, type_of

# What opens something that has an id, with what closes it and the member that names it. Subagents and their events are
# gone by now.
_CLOSERS: Final = {
    str(type): (type_of(kind.about, Action.CLOSES), kind.about.id)
    for type, kind in EVENT_KINDS.items()
    if kind.action is Action.OPENS and kind.about is not SUBAGENT and kind.about.id is not None
}
_MEMBERS: Final = dict(_CLOSERS.values())

BOUNDS: Final = frozenset(_CLOSERS) | _MEMBERS.keys()
"""The event types that open or close something."""


class OpenEntities:
    """What is open in the current run. It counts against the budget of the response."""

    __slots__ = ("_open",)

    def __init__(self, context: Context) -> None:
        # What would close each of them, and the member that names it.
        self._open: Index[tuple[str, str], str] = Index(context.budget)

    def __bool__(self) -> bool:
        return bool(self._open)

    def take(self, event: Event) -> None:
        """Track what the event opens or closes."""
        type = event.head.type
        opens = type in _CLOSERS
        closer, member = _CLOSERS[type] if opens else (type, _MEMBERS.get(type))
        if member is None or not isinstance(id := getattr(event.head, member), str):
            return
        if opens:
            self._open[closer, id] = member
        else:
            self._open.pop((closer, id), None)

    def close(self) -> Iterator[Event]:
        """Yield the END events of what is open, the newest first, and forget it."""
        for (closer, id), member in reversed(self._open.items()):
            yield Event(type=closer, **{member: id})
        self.clear()

    def clear(self) -> None:
        """Forget all of it: another run begins."""
        self._open.clear()
