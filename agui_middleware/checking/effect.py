"""The effect of the middleware on a recorded stream, in numbers."""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agui_middleware.config.plan import Plan
from agui_middleware.filters.contract import Context, Loss
from agui_middleware.protocol.chunk_lanes import ID_OF, Lanes
from agui_middleware.protocol.event import Event, as_id
from agui_middleware.protocol.event_kind import REASONING, REASONING_SPAN
from agui_middleware.protocol.event_types import types_about
from agui_middleware.stream.drive import run_filters

Key: TypeAlias = tuple[str, str | None, str | None, str | None]


@dataclass
class Fates:
    """How many events of one type are unchanged, changed, dropped and added."""

    unchanged: int = 0
    changed: int = 0
    dropped: int = 0
    added: int = 0


@dataclass
class Effect:
    """The effect of a plan on a stream: the fates of its events by type, and the losses that it reports."""

    fates: dict[str, Fates] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    """The events that the client receives."""

    @property
    def changes(self) -> bool:
        """Whether anything is changed, dropped or added."""
        return any(fates.changed or fates.dropped or fates.added for fates in self.fates.values())

    def of(self, type: str) -> Fates:
        """The fates of the events of one type."""
        return self.fates.setdefault(type, Fates())


async def effect(events: Sequence[Event], plan: Plan, passing: Collection[int] = ()) -> Effect:
    """Run `events` through `plan`. Raises what a filter raises, `MalformedEvent` and `EventTooLarge` included.

    `passing`: the places of the events that the middleware cannot read, which go out as they come.
    """
    made = Effect()
    left = await run_filters(events, plan.composition, Context(plan.client, on_loss=made.losses.append), passing)
    made.events = [event for out in left for event in out]
    origins = _origins(events, left)
    changed = {place for event, place in origins if place is not None and event is not events[place]}
    leaving = {place for _, place in origins}
    for place, event in enumerate(events):
        fates = made.of(event.type)
        fates.changed += place in changed
        fates.dropped += place not in leaving
        fates.unchanged += place in leaving and place not in changed
    for event in (event for event, origin in origins if origin is None):
        made.of(event.type).added += 1
    return made


def _origins(events: Sequence[Event], left: list[list[Event]]) -> list[tuple[Event, int | None]]:
    """Each event that left, with the place of the input event that it is, or was made from; `None` for a new event.

    A filter that changes an event creates another object, either from the event that it is processing, or from the first
    matching event that it has held back.
    """
    places = {id(event): place for place, event in enumerate(events)}
    stayed = {places[id(event)] for out in left for event in out if id(event) in places}
    missing = _Missing(_keys(events), stayed)
    return [
        (event, places[id(event)] if id(event) in places else missing.take(_key(event), place))
        for place, out in enumerate(left)
        for event in out
    ]


class _Missing:
    """The input events that did not leave unchanged, in order; each is matched once."""

    def __init__(self, keys: list[tuple[Key, ...]], stayed: set[int]) -> None:
        self._keys = keys
        self._places = set(range(len(keys))) - stayed
        self._by_key: dict[Key, deque[int]] = {}
        for place in sorted(self._places):
            for key in keys[place]:
                self._by_key.setdefault(key, deque()).append(place)

    def take(self, key: Key, at_work: int) -> int | None:
        """The input event for a key: the one being processed, or else the first before it."""
        waiting = self._by_key.get(key, deque())
        while waiting and waiting[0] not in self._places:
            waiting.popleft()
        place = waiting[0] if waiting and waiting[0] < at_work else None
        if at_work in self._places and key in self._keys[at_work]:
            place = at_work
        self._places -= {place}
        return place


def _keys(events: Sequence[Event]) -> list[tuple[Key, ...]]:
    """The keys under which each event may leave after a change: a chunk as START or content, any other as its own type."""
    lanes = Lanes()
    keys: list[tuple[Key, ...]] = []
    for event in events:
        if event.type not in ID_OF:
            lanes.close(event)
            keys.append((_key(event),))
            continue
        try:
            taken = lanes.take(event)
        except LookupError:
            taken = None
        named = event if taken is None else event.replace(**{ID_OF[event.type]: taken.lane.id})
        pieces = (named.replace(type=event.type.replace("_CHUNK", piece)) for piece in ("_START", "_CONTENT", "_ARGS"))
        keys.append((_key(named), *map(_key, pieces)))
    return keys


_REASONING = types_about(REASONING, REASONING_SPAN)


def _key(event: Event) -> Key:
    """The type and the ids. For reasoning, which has no ids in older releases, only its current type."""
    head = event.head
    modern = head.type.replace("THINKING_TEXT_", "REASONING_").replace("THINKING_", "REASONING_")
    if modern in _REASONING:
        return modern, None, None, None
    return modern, as_id(head.messageId), as_id(head.toolCallId), as_id(head.stepName)
