"""Which entity a chunk belongs to: the lanes of AG-UI's chunk shorthand, as @ag-ui/client 1.0.0 has them.

Each owner (a subagent, or the parent) has one lane, and a lane holds at most one entity: a text message, a tool call or a
reasoning message. A chunk without an id continues the entity in its lane. So in

    TEXT_MESSAGE_CHUNK m "a" tag s, TEXT_MESSAGE_CHUNK n "b" tag u, TEXT_MESSAGE_CHUNK "c" tag s

the "c" continues m. The rules are those of the page on chunk events in AG-UI's specification, and of the client's own
expansion. The tag chooses the lane; it does not make its subagent the owner of the entity.
"""

from typing import Any, Final

import msgspec
from msgspec import UNSET

from agui_middleware.protocol.budget import MOST_REPEATED, OVERHEAD, Budget
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_kind import Action, Closes
from agui_middleware.protocol.event_types import EVENT_KINDS, types_that
from agui_middleware.protocol.json_object import encode

PARENT: Final = None

_CHUNKS: Final = {type: kind.about for type, kind in EVENT_KINDS.items() if kind.action is Action.ABBREVIATES}
ID_OF: Final[dict[str, str]] = {str(type): about.id for type, about in _CHUNKS.items() if about.id is not None}
"""By type of chunk, the member that names the entity."""
START_MEMBERS: Final[dict[str, tuple[str, ...]]] = {str(type): about.start_members for type, about in _CHUNKS.items()}
"""By type of chunk, the members that only the entity's START needs."""

_CLOSES_TAG: Final = types_that(lambda kind: kind.closes is Closes.TAG)
_CLOSES_SUBAGENT: Final = types_that(lambda kind: kind.closes is Closes.SUBAGENT)
_CLOSES_ALL: Final = types_that(lambda kind: kind.closes is Closes.ALL)
CLOSES_PARENT: Final = _CLOSES_TAG | _CLOSES_ALL
"""The types that close a lane in a stream without subagents."""
CLOSES_SOME: Final = CLOSES_PARENT | _CLOSES_SUBAGENT
"""The types, no chunks, that may close a lane."""


class Lane(msgspec.Struct, gc=False, eq=False):
    """What is open in one lane: its owner, the type of its chunks, the entity's id, and the START members and the tag that
    its first chunk had.
    """

    owner: str | None
    type: str
    id: str
    start_members: dict[str, Any]
    tag: Any
    size: int
    """Of the JSON of all these, in bytes."""

    def repeated(self) -> "Lane":
        """The lane itself, for who puts what its first chunk said into a later event.

        Raises `EventTooLarge` where that is more than `MOST_REPEATED`.
        """
        if self.size > MOST_REPEATED:
            raise EventTooLarge
        return self

    def contradicted_by(self, chunk: Event) -> list[str]:
        """The members that `chunk` repeats with other values than the first chunk had: 1.0.0 ends the run there."""
        # A text without a role is the assistant's, so a later chunk may name that role.
        first = {"role": "assistant", **self.start_members} if self.type == "TEXT_MESSAGE_CHUNK" else self.start_members
        return [name for name, value in _start_members(chunk).items() if value != first.get(name, UNSET)]


class Match(msgspec.Struct, gc=False):
    """The lane that a chunk belongs to, the lane that it took over, and whether the chunk opened its entity."""

    lane: Lane
    closed: Lane | None
    opened: bool


class Lanes:
    """The open lanes of one response, fed with every event in order. Work per event is constant.

    Raises `EventTooLarge` where what the open lanes take exceeds the budget.
    """

    __slots__ = ("_budget", "_by_id", "open")

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget or Budget()
        self.open: dict[str | None, Lane] = {}  # by owner; the order is that of opening
        self._by_id: dict[str, dict[str, Lane]] = {type: {} for type in ID_OF}

    def close(self, event: Event) -> list[Lane]:
        """Close the lanes that `event`, which is not a chunk, closes. Return them in the order in which they were opened."""
        head = event.head
        if not self.open or head.type not in CLOSES_SOME:
            return []
        if head.type in _CLOSES_ALL:
            return [lane for owner in list(self.open) if (lane := self._shut(owner))]
        owner = _owner(head.subagentRunId)
        if head.type in _CLOSES_SUBAGENT and owner is PARENT:
            return []
        lane = self._shut(owner)
        return [] if lane is None else [lane]

    def owner_of(self, chunk: Event) -> str | None:
        """Return the owner of the lane that a chunk falls into.

        Raises `LookupError` where two subagents' lanes fit a chunk without an id and a tag, or where its tag contradicts the
        lane that holds its id: 1.0.0 ends the run there.
        """
        head = chunk.head
        id, tag = getattr(head, ID_OF[head.type]), _owner(head.subagentRunId)
        fitting = self._by_id[head.type]
        if isinstance(id, str):
            holder = fitting.get(id)
            if holder is not None and tag not in (PARENT, holder.owner):
                raise LookupError(f"{id!r} is of {holder.owner!r}")
            return tag if holder is None else holder.owner
        parent = self.open.get(PARENT)
        if tag is not PARENT or not fitting or (parent is not None and parent.type == head.type):
            return tag
        if len(fitting) > 1:
            raise LookupError(f"several subagents have a {head.type} open")
        return next(iter(fitting.values())).owner

    def take(self, chunk: Event) -> Match | None:
        """Let a chunk continue its lane, or open one. `None` where it does neither, and the client has to reject it.

        Raises `LookupError` as `owner_of` does.
        """
        type, owner = chunk.head.type, self.owner_of(chunk)
        held, id = self.open.get(owner), getattr(chunk.head, ID_OF[type])
        if held is not None and held.type == type and id in (UNSET, held.id):
            return Match(held, None, False)
        start_members = _start_members(chunk)
        if not isinstance(id, str) or (type == "TOOL_CALL_CHUNK" and "toolCallName" not in start_members):
            return None
        self._shut(owner)
        tag = chunk.head.subagentRunId
        size = len(encode([id, None if tag is UNSET else tag, start_members]))
        self._budget.hold(size + OVERHEAD)
        lane = self.open[owner] = self._by_id[type][id] = Lane(owner, type, id, start_members, tag, size)
        return Match(lane, held, True)

    def _shut(self, owner: str | None) -> Lane | None:
        lane = self.open.pop(owner, None)
        if lane is not None:
            del self._by_id[lane.type][lane.id]
            self._budget.release(lane.size + OVERHEAD)
        return lane


def _start_members(chunk: Event) -> dict[str, Any]:
    """The START members that a chunk carries. 1.0.0 reads a null `parentMessageId` as absent."""
    said = {name: chunk.get(name, UNSET) for name in START_MEMBERS[chunk.head.type]}
    return {name: v for name, v in said.items() if v is not UNSET and not (v is None and name == "parentMessageId")}


def _owner(tag: Any) -> str | None:
    return tag if isinstance(tag, str) else PARENT


def delta_of(event: Event) -> str | None:
    """What an event appends; of a chunk without a delta the empty string. Raises `MalformedEvent`."""
    delta = event.get("delta", "" if event.head.type in ID_OF else None)
    return delta if isinstance(delta, str) else None
