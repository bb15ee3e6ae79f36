"""The orders of events that decoders insist on."""

from typing import ClassVar

from tests.readers.decoding import Json, Order, Rejected

CONTENTS = ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TOOL_CALL_ARGS", "TOOL_CALL_END")


Key = tuple[str, str]


def _key(event: Json) -> Key:
    """The kind and the id of the text or the call that an event belongs to."""
    return event["type"].split("_")[0], event.get("toolCallId") or event.get("messageId", "")


class Keyed(Order):
    """What is open is known by its kind and id; several may be. Steps have names that are open once.

    - `runs`: how many may be in one stream; `None`: any number.
    - `after_error`: whether something may follow a RUN_ERROR.
    - `ends`: whether texts, calls and steps have to end before their run does.
    """

    runs: ClassVar[int | None] = None
    after_error: ClassVar[bool] = False
    ends: ClassVar[bool] = True
    named_steps: ClassVar[bool] = True

    def __init__(self) -> None:
        self.open: dict[Key, str] = {}
        self.steps: list[str] = []
        self.started = 0
        self.running = self.failed = False

    def take(self, event: Json) -> None:
        type = event["type"]
        if self.failed and not self.after_error:
            raise Rejected(f"{type} behind RUN_ERROR")
        if type == "RUN_STARTED":
            self._start()
        elif not self.running and type != "RUN_ERROR":
            raise Rejected(f"{type} outside a run")
        elif type in ("RUN_FINISHED", "RUN_ERROR"):
            self._end(type)
        elif type.startswith("STEP_") and self.named_steps:
            self._step(type, event["stepName"])
        else:
            self._content(type, _key(event))

    def _start(self) -> None:
        self.started += 1
        if self.running or (self.runs is not None and self.started > self.runs):
            raise Rejected("one run too many")
        self.running = True

    def _end(self, type: str) -> None:
        if type == "RUN_FINISHED" and self.ends and (self.open or self.steps):
            raise Rejected(f"open at the end: {[*self.open, *self.steps]}")
        self.open.clear()
        self.steps.clear()
        self.running, self.failed = False, type == "RUN_ERROR"

    def _step(self, type: str, name: str) -> None:
        if (type == "STEP_STARTED") == (name in self.steps):
            raise Rejected(f"{type} of the step {name!r}")
        (self.steps.append if type == "STEP_STARTED" else self.steps.remove)(name)

    def _content(self, type: str, id: Key) -> None:
        if type in ("TEXT_MESSAGE_START", "TOOL_CALL_START"):
            if id in self.open:
                raise Rejected(f"{type} of {id!r}, which is open")
            self.open[id] = type
        elif type in CONTENTS:
            if id not in self.open:
                raise Rejected(f"{type} of {id!r}, which is not open")
            if type.endswith("_END"):
                del self.open[id]


class OneAtATime(Keyed):
    """While a text or a call is open nothing may come but what belongs to it, and RAW."""

    runs = 1

    def take(self, event: Json) -> None:
        named = "toolCallId" in event or "messageId" in event
        foreign = event["type"] not in (*CONTENTS, "RAW", "RUN_ERROR") or (named and _key(event) not in self.open)
        if self.open and foreign:
            raise Rejected(f"{event['type']} while {[*self.open]} is open")
        super().take(event)


class OneEntity(Keyed):
    """No text or call may start while another one is open."""

    after_error = True
    named_steps = False
    ends = False

    def take(self, event: Json) -> None:
        if self.open and event["type"] in ("TEXT_MESSAGE_START", "TOOL_CALL_START"):
            raise Rejected(f"{event['type']} while {[*self.open]} is open")
        super().take(event)


class OneRun(Keyed):
    """One run a stream."""

    runs = 1


class LooseSteps(Keyed):
    """Steps and what follows an error are not looked at."""

    named_steps = False
    after_error = True
