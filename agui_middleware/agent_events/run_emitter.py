"""Builds the AG-UI events of one run: tagged with its subagentRunId, under ids that are never used twice."""

from collections.abc import Callable
from typing import Any, TypeAlias

AGUIEvent: TypeAlias = dict[str, Any]
"""One AG-UI event as JSON has it: members in the protocol's camelCase, absent rather than null."""

NewId: TypeAlias = Callable[[str], str]
"""Makes an id from a readable name such as `turn-1-text`. Called once per name within a run."""


class UniqueNames:
    """Hands out each name once."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def claim(self, name: str) -> str:
        """Return `name`, or where that is taken `name-2`, `name-3` and so on."""
        unique, number = name, self._last.get(name, 1)
        while unique in self._last:
            number += 1
            unique = f"{name}-{number}"
        # Each name remembers its last number, so that a loop that calls everything "call_1" stays linear.
        self._last[name] = number
        self._last.setdefault(unique, 1)
        return unique


class EventBuffer:
    """The events of one stream that have not been yielded yet, and the ids that the stream has used."""

    def __init__(self, new_id: NewId) -> None:
        self.events: list[AGUIEvent] = []
        self.tool_call_ids: UniqueNames = UniqueNames()
        self._names = UniqueNames()
        self._new_id = new_id

    def claim(self, name: str) -> tuple[str, str]:
        """Return a free name, `name` itself where possible, and its id."""
        free = self._names.claim(name)
        return free, self._new_id(free)

    def drain(self) -> list[AGUIEvent]:
        """Return the buffered events and empty the buffer."""
        events, self.events = self.events, []
        return events


class RunEmitter:
    """Emits the events of one run.

    `tag` is the run's subagentRunId, None for the agent itself. `prefix` starts the names of all its ids.
    """

    def __init__(self, buffer: EventBuffer, prefix: str = "", tag: str | None = None) -> None:
        self.buffer = buffer
        self.prefix = prefix
        self.tag = tag

    def emit(self, kind: str, **members: Any) -> None:
        event = {"type": kind, **members}
        if self.tag is not None:
            event["subagentRunId"] = self.tag
        self.buffer.events.append(event)

    def new_id(self, name: str) -> str:
        return self.buffer.claim(f"{self.prefix}{name}")[1]

    def nested(self, tool: str) -> "RunEmitter":
        """The emitter of a new run inside a call of `tool`."""
        name, tag = self.buffer.claim(f"{self.prefix}{tool}")
        return RunEmitter(self.buffer, f"{name}-", tag)
