"""What the middleware makes of a recorded stream, told in numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agui_middleware.checking.tap import tapped
from agui_middleware.event import UNSET, Event
from agui_middleware.filters.contract import Context, Loss
from agui_middleware.plan import Plan


@dataclass
class Fates:
    """How many events of one type leave as they came, leave changed, do not leave, and are new."""

    unchanged: int = 0
    changed: int = 0
    dropped: int = 0
    added: int = 0


@dataclass
class Effect:
    """What a plan makes of a stream: the fates of its events by type, and what it reports as lost."""

    fates: dict[str, Fates] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)

    @property
    def changes(self) -> bool:
        """Whether anything does not leave as it came."""
        return any(fates.changed or fates.dropped or fates.added for fates in self.fates.values())

    def of(self, type: str) -> Fates:
        """The fates of the events of one type."""
        return self.fates.setdefault(type, Fates())


async def effect(events: Sequence[Event], plan: Plan) -> Effect:
    """What `plan` makes of `events`. Raises what a filter raises, `MalformedEvent` and `EventTooLarge` included."""
    told = Effect()
    left = await tapped(events, plan.composition.filters, Context(plan.client, on_loss=told.losses.append))
    origins = _origins(events, left)
    changed = {place for event, place in origins if place is not None and event is not events[place]}
    leaving = {place for _, place in origins}
    for place, event in enumerate(events):
        fates = told.of(event.type)
        fates.changed += place in changed
        fates.dropped += place not in leaving
        fates.unchanged += place in leaving and place not in changed
    for event in (event for event, origin in origins if origin is None):
        told.of(event.type).added += 1
    return told


def _origins(events: Sequence[Event], left: list[list[Event]]) -> list[tuple[Event, int | None]]:
    """Each event that left, with the place of the one that it is, or was made of; `None`: it is new.

    An event that somebody changed is another object: it was made of the one that was at work when it left, or else of one
    that had been held back.
    """
    places = {id(event): place for place, event in enumerate(events)}
    gone = set(range(len(events))) - {places[id(event)] for out in left for event in out if id(event) in places}
    origins: list[tuple[Event, int | None]] = []
    for place, out in enumerate(left):
        for event in out:
            origin = places.get(id(event))
            if origin is None:
                sources = (p for p in (place, *sorted(gone)) if p in gone and p <= place)
                origin = next((p for p in sources if _may_become(events[p], event)), None)
                gone -= {origin}
            origins.append((event, origin))
    return origins


def _may_become(before: Event, after: Event) -> bool:
    """Whether a filter may have made `after` of `before`: the same thing, a piece of a chunk, or reasoning anew."""
    kind, type = _modern(before.type), _modern(after.type)
    pieces = (kind.replace("_CHUNK", "_START"), kind.replace("_CHUNK", "_CONTENT"), kind.replace("_CHUNK", "_ARGS"))
    names = ("messageId", "toolCallId", "stepName")
    pairs = [(getattr(before.head, name), getattr(after.head, name)) for name in names]
    return type in (kind, *pieces) and all(UNSET in pair or pair[0] == pair[1] for pair in pairs)


def _modern(type: str) -> str:
    return type.replace("THINKING_TEXT_", "REASONING_").replace("THINKING_", "REASONING_")
