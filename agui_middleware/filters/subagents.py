"""What a client sees of an agent's subagents."""

from collections.abc import Callable
from enum import StrEnum
from functools import partial

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, Step, per_event
from agui_middleware.filters.hiding import listed_members, strip_hidden
from agui_middleware.protocol.budget import Budget
from agui_middleware.protocol.chunk_lanes import CLOSES_PARENT, ID_OF, Lane, Lanes
from agui_middleware.protocol.event import UNSET, Event, JsonObject
from agui_middleware.protocol.event_kind import Action, Carries, Owner
from agui_middleware.protocol.event_types import EVENT_KINDS, TOKENS, types_that
from agui_middleware.protocol.messages import edit_interrupts, edit_messages
from agui_middleware.protocol.nameless_owners import Steps
from agui_middleware.protocol.ownership import Ownership

_STEPS = types_that(lambda kind: kind.owner is Owner.STEP)
_SNAPSHOTS = types_that(lambda kind: kind.carries is Carries.MESSAGES)
_LIFECYCLE = types_that(lambda kind: kind.owner is Owner.SUBAGENT)
# Nearly every event: its tag says all that `inline` takes off, and no state but that of open chunks depends on it.
_PLAIN = types_that(
    lambda kind: (
        kind.owner not in (Owner.SUBAGENT, Owner.STEP)
        and kind.action is not Action.ABBREVIATES
        and kind.carries is Carries.NOTHING
    )
)
# What says whose it is. A THINKING_TEXT_MESSAGE_CONTENT names nothing, and is counted: see `Nameless`.
_NAMING = TOKENS & types_that(lambda kind: kind.about.id is not None)


class SubagentVisibility(StrEnum):
    """What a client sees of an agent's subagents.

    - `ATTRIBUTED`, the default: the stream as the agent emitted it, lifecycle events and `subagentRunId` included.
    - `INLINE`: the shape from before subagents. No lifecycle events and no `subagentRunId` anywhere; a subagent's text
      arrives as the parent's. Its steps go: as the parent's they would collide with an open step of the same name.
    - `HIDDEN`: the parent's own events only, and the run's shared state. A result stays or goes with its call, whoever
      executed it; interrupts stay, since the client has to answer them. `hiding.POLICIES` has the decision for each type.

    In both of the latter a chunk that named no entity gets the id that its attribution resolved to, and a tool chunk that
    the client has to reopen its name: a client without the attribution would resolve it differently.
    """

    ATTRIBUTED = "attributed"
    INLINE = "inline"
    HIDDEN = "hidden"

    def filter(self) -> Filter:
        """The filter of this mode; that of `ATTRIBUTED` lets everything pass."""
        return {"attributed": attributed, "inline": inline, "hidden": hidden}[self.value]

    @staticmethod
    def inline() -> Filter:
        """The filter of `INLINE`."""
        return inline

    @staticmethod
    def hidden() -> Filter:
        """The filter of `HIDDEN`."""
        return hidden


@per_event()
def attributed(_: Context) -> Step:
    """Let everything pass."""
    return lambda event: event


@per_event(EVERYTHING, repeats=TOKENS)
def inline(context: Context) -> Step:
    """`SubagentVisibility.INLINE`."""
    steps, chunks = Steps(context.budget), Chunks(context.budget)

    def show(event: Event) -> Event | None:
        head = event.head
        type = head.type
        if type in _PLAIN and not chunks.open:
            return event if head.subagentRunId is UNSET else event.untagged()
        if type in ID_OF:
            return untag(chunks.shown(chunks.named(event)))
        chunks.passed(event)
        if type in _LIFECYCLE or (type in _STEPS and steps.take(head)):
            return None
        chunks.closed(type)
        return untag(event)

    return show


@per_event(EVERYTHING, repeats=_NAMING)
def track_ownership(context: Context) -> Step:
    """Record ownership before the route's own filters can drop the events that establish it, where `hidden` follows them."""
    owners, chunks = Ownership(earlier=context._earlier, budget=context.budget, recorded=True), Chunks(context.budget)
    context._ownership = owners

    def track(event: Event) -> Event:
        if event.head.type in ID_OF:
            owners.take(chunks.named(event))
        else:
            chunks.passed(event)
            owners.take(event)
        return event

    return track


@per_event(EVERYTHING, repeats=_NAMING)
def hidden(context: Context) -> Step:
    """`SubagentVisibility.HIDDEN`."""
    owners = Ownership(context._ownership, context._earlier, context.budget)
    chunks = Chunks(context.budget)
    context._ownership = owners  # a response's own, for what is kept of it

    def show(event: Event) -> Event | None:
        type = event.head.type
        if type in _PLAIN and not chunks.open:
            if owners.take(event):
                return None
            return event if event.head.subagentRunId is UNSET else listed_members(event).untagged()
        if type in ID_OF:
            event = chunks.named(event)
            return None if chunks.ambiguous or owners.take(event) else untag(chunks.shown(event))
        chunks.passed(event)
        if owners.take(event):
            return None
        if type in _SNAPSHOTS and not owners.knows_earlier:
            context.lost("snapshots of messages", "the posted thread is not known, and so not whose its messages are")
            return None
        chunks.closed(type)
        return untag(strip_hidden(event, owners))

    return show


class Chunks:
    """Keeps chunks unambiguous for a reader without attribution, which has a single lane for all of them.

    For each chunk `named`, and `shown` if it goes out; for each other event `passed`, and `closed` if it goes out.
    """

    __slots__ = ("_lanes", "_reader", "_taken", "ambiguous", "open")

    def __init__(self, budget: Budget) -> None:
        self._lanes = Lanes(budget)
        self.open: bool = False  # whether an event that is no chunk can close anything
        self._reader: Lane | None = None  # what the reader's lane holds
        self.ambiguous: bool = False  # the last chunk fits the lanes of several owners, and 1.0.0 rejects it

    def passed(self, event: Event) -> None:
        """Follow what an event that is no chunk closes for a reader with attribution."""
        self._lanes.close(event)
        self.open = bool(self._lanes.open) or self._reader is not None

    def closed(self, type: str) -> None:
        """Follow what an event that is no chunk closes for a reader without."""
        if self._reader is not None and type in CLOSES_PARENT:
            self._reader = None
            self.open = bool(self._lanes.open)

    def named(self, chunk: Event) -> Event:
        """The chunk with the id of what it continues. One that fits nothing stays as it is, for the client to reject."""
        self._taken, self.ambiguous, self.open = None, False, True
        try:
            self._taken = self._lanes.take(chunk)
        except LookupError:
            self.ambiguous = True
        id = ID_OF[chunk.head.type]
        if self._taken is None or id in chunk:
            return chunk
        return chunk.replace(**{id: self._taken.lane.repeated().id})

    def shown(self, chunk: Event) -> Event:
        """The chunk last named, with what its START said where the reader has to reopen the entity, and without what
        contradicts that where it only continues it: what closed the lane in between may have been a hidden subagent's.
        """
        if self._taken is None:
            return chunk
        lane, reader = self._taken.lane, self._reader
        if reader is None or (reader.type, reader.id) != (lane.type, lane.id):
            missing = {} if self._taken.opened else {n: v for n, v in lane.start_members.items() if n not in chunk}
            self._reader = lane
            return chunk.replace(**missing) if missing and lane.repeated() else chunk
        if reader is lane:
            return chunk
        return chunk.without(*(set(reader.contradicted_by(chunk)) - set(lane.contradicted_by(chunk))))


def untag(event: Event) -> Event:
    """Take `subagentRunId` off an event and off what it carries: messages, echoed messages and interrupts. Payloads are
    not looked into. A tag that is no string is malformed, and not repaired.
    """
    if event.head.type == "MESSAGES_SNAPSHOT" and (untagged := event.messages_untagged()) is not None:
        return untagged
    edit = _CARRIED.get(event.head.type)
    return event.untagged() if edit is None else edit(event.untagged(), _untag_object)


_edit_tagged = partial(edit_messages, containing=b"subagentRunId")
_EDIT: dict[Carries, Callable[..., Event]] = {
    Carries.MESSAGES: _edit_tagged,
    Carries.ECHO: _edit_tagged,
    Carries.OUTCOME: edit_interrupts,
}
_CARRIED = {str(type): _EDIT[kind.carries] for type, kind in EVENT_KINDS.items() if kind.carries in _EDIT}


def _untag_object(value: JsonObject) -> JsonObject:
    if not value.may_contain(b"subagentRunId"):
        return value
    return value.without("subagentRunId") if isinstance(value.get("subagentRunId"), str) else value
