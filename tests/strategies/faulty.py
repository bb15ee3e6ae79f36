"""`invalid_runs`: valid runs with one fault each. Whether a reader rejects the fault is for the reader to say."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from .drawn import runs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .reader import Json
    from .shapes import Shape

_IDS = ("messageId", "toolCallId", "stepName", "subagentRunId", "entityId", "runId")
_OPENERS = {
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK"),
    "TOOL_CALL_START": ("TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK"),
}
_PIECES = tuple(pieces[0] for pieces in _OPENERS.values())
_ENDS = (*(pieces[1] for pieces in _OPENERS.values()), "REASONING_END", "STEP_FINISHED", "SUBAGENT_FINISHED")
_STARTS = (*_OPENERS, "REASONING_START", "STEP_STARTED", "SUBAGENT_STARTED", "RUN_STARTED")
_REQUIRED = ("messageId", "toolCallId", "toolCallName", "delta", "stepName", "threadId", "runId", "content", "messages")
_WRONG_VALUES = (None, 5, ["x"])


@dataclass(frozen=True)
class Fault:
    """One fault: its kind, and the event that has it, as the how many-th of its type and id."""

    kind: str
    type: str
    id: str | None
    nth: int
    member: str = ""
    value: Any = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.type, self.member and f"{self.member}={self.value!r}")))

    def applied(self, events: list[Json]) -> list[Json] | None:
        """The events with the fault; `None` where they lack the event that is to have it."""
        places = [place for place, event in enumerate(events) if (event["type"], _id(event)) == (self.type, self.id)]
        if len(places) <= self.nth:
            return None
        place = places[self.nth]
        before, event, behind = events[:place], events[place], events[place + 1 :]
        return [*before, *_KINDS[self.kind](self, event), *behind]


def _id(event: Json) -> str | None:
    return next((event[name] for name in _IDS if isinstance(event.get(name), str)), None)


def _doubled(_: Fault, event: Json) -> list[Json]:
    return [event, event]


def _removed(_: Fault, __: Json) -> list[Json]:
    return []


def _absent(fault: Fault, event: Json) -> list[Json]:
    return [{name: value for name, value in event.items() if name != fault.member}]


def _wrong(fault: Fault, event: Json) -> list[Json]:
    return [{**event, fault.member: fault.value}]


def _followed(fault: Fault, event: Json) -> list[Json]:
    """A piece of what has ended, or a chunk of what has just been opened."""
    name = "toolCallId" if "TOOL" in event["type"] else "messageId"
    tag = {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}
    return [event, {"type": fault.member, name: event[name], "delta": "{}", **tag}]


_KINDS: dict[str, Callable[[Fault, Json], list[Json]]] = {
    "doubled": _doubled,
    "removed": _removed,
    "absent member": _absent,
    "wrong value": _wrong,
    "followed": _followed,
}


@st.composite
def invalid_runs(
    draw: st.DrawFn, *, max_moves: int = 15, without: Collection[Shape] = ()
) -> tuple[list[Json], Fault, list[Json]]:
    """Draw a valid run, a fault, and the run with the fault. `max_moves` and `without` are those of `runs`."""
    events = draw(runs(max_moves=max_moves, without=without))
    candidates = [(place, kind, member) for place, event in enumerate(events) for kind, member in _faults_of(event)]
    # Evenly: Hypothesis prefers what comes first, and would draw the same fault of RUN_STARTED in every fifth run.
    pick = Random(f"{draw(st.integers(0, 999))} {events}").choice
    # By kind first, and then by type: some are possible nearly everywhere.
    kind = pick(sorted({kind for _, kind, _ in candidates}))
    type_ = pick(sorted({events[place]["type"] for place, other, _ in candidates if other == kind}))
    place, _, member = pick([one for one in candidates if one[1] == kind and events[one[0]]["type"] == type_])
    value = pick(_WRONG_VALUES) if kind == "wrong value" else None
    fault = _fault(events, place, kind, member, value)
    faulty = fault.applied(events)
    assert faulty is not None
    return events, fault, faulty


def _fault(events: list[Json], place: int, kind: str, member: str, value: object) -> Fault:
    type_, id_ = events[place]["type"], _id(events[place])
    nth = sum((event["type"], _id(event)) == (type_, id_) for event in events[:place])
    return Fault(kind, type_, id_, nth, member, value)


def _faults_of(event: Json) -> list[tuple[str, str]]:
    """The kinds of faults that an event can have, with the member or the type that they are about."""
    type_ = event["type"]
    found = [("doubled", "")] if type_ in _ENDS or type_ in _STARTS else []
    found += [("removed", "")] if type_ in _ENDS or type_ in _STARTS else []
    if type_ in _OPENERS:
        found.append(("followed", _OPENERS[type_][2]))
    if type_ in _ENDS[:3]:
        found += [("followed", piece) for piece in _PIECES if piece[:4] == type_[:4]]
    required = [name for name in _REQUIRED if name in event and not type_.endswith("_CHUNK")]
    found += [(kind, name) for kind in ("absent member", "wrong value") for name in required]
    found += [("wrong value", name) for name in ("metadata", "timestamp", "subagentRunId", "role") if name in event]
    return found
