"""Where AG-UI events are put together: tagged with the run that speaks, under ids that never repeat."""

from collections.abc import Callable
from typing import Any, TypeAlias

AGUIEvent: TypeAlias = dict[str, Any]
"""One AG-UI event as JSON has it: members in the protocol's camelCase, absent rather than null."""

NewId: TypeAlias = Callable[[str], str]
"""Makes an id out of a readable name such as `turn-1-text`. No name is asked for twice within a run."""


class Names:
    """Hands out names, each once."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """`name`, or where that is taken `name-2`, `name-3` and so on."""
        unique, number = name, self._last.get(name, 1)
        while unique in self._last:
            number += 1
            unique = f"{name}-{number}"
        # Each name remembers how far it got, so that a loop that calls everything "call_1" stays linear.
        self._last[name] = number
        self._last.setdefault(unique, 1)
        return unique


class Outbox:
    """What one stream has to say and has not said yet, and the ids it has used."""

    def __init__(self, new_id: NewId) -> None:
        self.events: list[AGUIEvent] = []
        self.tool_call_ids: Names = Names()
        self._names = Names()
        self._new_id = new_id

    def name(self, name: str) -> tuple[str, str]:
        """A name like this one that is free, and its id."""
        free = self._names.claim(name)
        return free, self._new_id(free)

    def drain(self) -> list[AGUIEvent]:
        events, self.events = self.events, []
        return events


class Voice:
    """Speaks for one run. `tag` is its subagentRunId, None for the agent itself; `name` starts all its ids' names."""

    def __init__(self, outbox: Outbox, name: str = "", tag: str | None = None) -> None:
        self.outbox = outbox
        self.name = name
        self.tag = tag

    def emit(self, kind: str, **members: Any) -> None:
        event = {"type": kind, **members}
        if self.tag is not None:
            event["subagentRunId"] = self.tag
        self.outbox.events.append(event)

    def new_id(self, name: str) -> str:
        return self.outbox.name(f"{self.name}{name}")[1]

    def nested(self, tool: str) -> "Voice":
        """The voice of a run inside this one."""
        name, tag = self.outbox.name(f"{self.name}{tool}")
        return Voice(self.outbox, f"{name}-", tag)
