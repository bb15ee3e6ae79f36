"""What a decoder of AG-UI is modelled of: the types that it knows, rules for events, and the order that it insists on."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]
"""Yields what the decoder cannot read about an event."""

RUN = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"})
STEP = frozenset({"STEP_STARTED", "STEP_FINISHED"})
TEXT = frozenset({"TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"})
CALL = frozenset({"TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"})
RESULT = frozenset({"TOOL_CALL_RESULT"})
STATE = frozenset({"STATE_SNAPSHOT", "STATE_DELTA"})
SNAPSHOT = frozenset({"MESSAGES_SNAPSHOT"})
ACTIVITY = frozenset({"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"})
OTHER = frozenset({"RAW", "CUSTOM"})
REASONING = frozenset(
    {
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_MESSAGE_CHUNK",
        "REASONING_END",
        "REASONING_ENCRYPTED_VALUE",
    }
)
THINKING = frozenset(
    {
        "THINKING_START",
        "THINKING_TEXT_MESSAGE_START",
        "THINKING_TEXT_MESSAGE_CONTENT",
        "THINKING_TEXT_MESSAGE_END",
        "THINKING_END",
    }
)
TEXT_CHUNK = frozenset({"TEXT_MESSAGE_CHUNK"})
CALL_CHUNK = frozenset({"TOOL_CALL_CHUNK"})
BASIC = RUN | STEP | TEXT | CALL | RESULT | STATE | SNAPSHOT | OTHER


@dataclass
class Reading:
    """What an application has at the end of a stream: why it ended early, and what it was given."""

    error: str | None = None
    dropped: list[Json] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)


class Rejected(Exception):
    """The run ends here."""


class Order:
    """The order in which events may come, for decoders that look at it. One that does not accepts any."""

    def take(self, event: Json) -> None:
        """Raises `Rejected`."""


class Decoder:
    """One SDK, as a range of its versions reads. Subclasses are its rows of the sheet."""

    client: ClassVar[str]
    """A name and version by which it is advertised."""
    known: ClassVar[frozenset[str]]
    ignored: ClassVar[frozenset[str]] = frozenset()
    """Types that it passes over without a word. With `{"*"}` all that it does not know."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    faults: ClassVar[str] = "end"
    """Whether what it cannot read ends the run, or is dropped (`drop`)."""
    order: ClassVar[type[Order]] = Order
    comments: ClassVar[bool] = True

    def read(self, stream: bytes) -> Reading:
        """Read a whole stream."""
        reading, order = Reading(), self.order()
        try:
            for event in self._events(stream):
                why = self._fault(event)
                if why is None:
                    order.take(event)
                    self._assemble(reading, event)
                elif self.faults == "drop" and why:
                    reading.dropped.append(event)
                elif why:
                    raise Rejected(f"{why}: {event}")
        except Rejected as error:
            reading.error = str(error)
        return reading

    def _events(self, stream: bytes) -> Iterator[Json]:
        *frames, tail = stream.decode().split("\n\n")
        if tail:
            raise Rejected("the last frame has no blank line")
        for frame in frames:
            data = [line[6:] for line in frame.split("\n") if line.startswith("data: ")]
            if data:
                yield json.loads("\n".join(data))
            elif not self.comments:
                raise Rejected("a frame with nothing but a comment")

    def _fault(self, event: Json) -> str | None:
        """Why it does not read an event; empty where it passes over it."""
        type = event["type"]
        if type not in self.known:
            return "" if self.ignored & {type, "*"} else f"does not know {type}"
        return next((why for rule in self.rules for why in rule(event)), None)

    def _assemble(self, reading: Reading, event: Json) -> None:
        match event:
            case {"type": "TEXT_MESSAGE_START", "messageId": id}:
                reading.texts.setdefault(id, "")
            case {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta} if id in reading.texts:
                reading.texts[id] += delta
            case {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}:
                reading.calls[id] = (name, reading.calls.get(id, ("", ""))[1])
            case {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta} if id in reading.calls:
                name, arguments = reading.calls[id]
                reading.calls[id] = (name, arguments + delta)
            case {"type": "TOOL_CALL_RESULT", "toolCallId": id, "content": content}:
                reading.results[id] = content
