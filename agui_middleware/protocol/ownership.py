"""What a stream's subagents own: the bookkeeping behind `hidden`.

An entity belongs to whoever opened it first, and keeps belonging to it after it was closed and across the runs of one
stream: continuations, results, encrypted values and step ends often carry no tag, and may come long after the subagent has
ended. Nothing gives a subagent's to the parent: a server that builds a snapshot from its model's messages has lost their
tags, though @ag-ui/client 1.0.0 would take each for the parent's. For the rest the rules are those of its verification.
Memory grows with the entities that a stream has opened, not with its events, and counts against the response's budget.
"""

from collections.abc import Collection
from typing import Any, Final

from agui_middleware.protocol import owner_sets as sets
from agui_middleware.protocol.budget import Budget, Index
from agui_middleware.protocol.event import UNSET, Event, Head, JsonObject, as_id
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.messages import calls_of, messages_of
from agui_middleware.protocol.nameless_owners import STEP_TYPES, THINKING_TYPES, Nameless, Steps, Thinking, tagged
from agui_middleware.protocol.owned import Owned
from agui_middleware.protocol.owner_sets import CLAIMS, CLOSES, ENTITY, OPENS  # these for each token

_REMEMBERED: Final = frozenset({"call", "activity", "message"})  # of the parent's
_KNOWN: Final = frozenset(EventType)
_ENCRYPTED: Final = {"message": ("message", "reasoning"), "tool-call": ("call",)}  # by subtype; of another, any kind


class Ownership:
    """Decides, for each event of a response in order, whether a subagent produced it.

    Chunks must carry their resolved id (`agui_middleware.protocol.chunk_lanes`). What belongs to the run, such as its state
    and its snapshots, belongs to no subagent, whatever its tag says.

    `before`: the ownership `recorded` before the route's own filters, which may drop what establishes it, events and tags.
    `earlier`: what subagents have opened in earlier responses of the thread. It stays theirs, in snapshots that have lost
    the tags too, until this response opens the same id again: many agents count from one in each run.
    """

    __slots__ = ("_before", "_earlier", "_named", "_nameless", "_open", "_owner", "_steps", "_thinking")

    def __init__(
        self,
        before: "Ownership | None" = None,
        earlier: Owned | None = None,
        budget: Budget | None = None,
        *,
        recorded: bool = False,
    ) -> None:
        budget = budget or Budget()
        self._before = before
        earlier = Owned() if earlier is None else earlier
        self._earlier: Owned = earlier if before is None else before._earlier
        self._nameless = Nameless(budget) if recorded or before is not None else None
        # By bucket and id, whether a subagent owns it. The parent's reasoning is not remembered: nothing needs it.
        # Everything else is kept for good: a result or a snapshot may name a call, and a call a message, long after its end.
        self._owner: dict[str, Index[Any, bool]] = {bucket: Index(budget) for bucket, _ in ENTITY.values()}
        # What the parent has opened stays its own until its END, or the client would wait for that: in START m,
        # MESSAGES_SNAPSHOT [m tag s], END m the end leaves. The value: whether a snapshot has given it away meanwhile.
        self._open: Index[tuple[str, Any], bool] = Index(budget)
        # Messages of which nothing is known but that a subagent's call names them.
        self._named: Index[Any, Any] = Index(budget)
        self._steps = Steps(budget)
        self._thinking = Thinking()

    @property
    def knows_earlier(self) -> bool:
        """Whether it is known what earlier responses of the thread have opened."""
        return self._earlier.is_known

    def take(self, event: Event) -> bool:
        """Whether a subagent produced `event`; an entity that it opens is remembered."""
        head = event.head
        type = head.type
        entity = ENTITY.get(type)
        if entity is None:
            return self._take_other(event)
        kind, member = entity
        id, mine = None if member is None else as_id(getattr(head, member)), tagged(head.subagentRunId)
        if type in CLAIMS:
            return self._opened(event, kind, id, mine)
        owned = mine or self._owns(kind, id)
        if type in CLOSES and self._open.pop((kind, id), False):
            self._assign(kind, id, owned=True)
        return owned

    def owns_message(self, message: JsonObject) -> bool:
        """Whether a message of a snapshot or an input echo is a subagent's, also where it has lost its tag on the way.

        A tool message goes where its call went.
        """
        call = self._known("call", as_id(message.get("toolCallId"))) if message.get("role") == "tool" else None
        if call is not None:
            return call
        return tagged(message.get("subagentRunId", UNSET)) or self._owns(*_named(message))

    def owns_call(self, id: Any) -> bool:
        """Whether a subagent asked for the tool call `id`."""
        return self._owns("call", as_id(id))

    def reread(self, event: Event) -> None:
        """Learn who owns what from the messages of a MESSAGES_SNAPSHOT, or of a RUN_STARTED's input echo.

        Both tell only what nobody knows yet, and a snapshot besides what has become a subagent's. One that a subagent has
        tagged, which the protocol does not provide for, names what is that subagent's and takes nothing from the parent.
        """
        foreign = tagged(event.head.subagentRunId)
        takes = event.type in sets.SNAPSHOTS and not foreign
        messages = [message for message in messages_of(event) or () if isinstance(message, JsonObject)]
        for message in messages:  # calls first: they decide whose the tool messages are
            mine = foreign or self.owns_message(message)
            for call in calls_of(message):
                self._learn("call", call.get("id"), mine or self.owns_call(call.get("id")), takes)
        for message in messages:
            mine, role = foreign or self.owns_message(message), message.get("role")
            self._learn("message", message.get("id"), mine, takes)
            if role in ("reasoning", "activity"):
                self._learn(role, message.get("id"), mine, takes)

    def owned(self, posted: Collection[str] = ()) -> Owned:
        """What was opened in this response, with what `before` has recorded: for the responses to come.

        `posted`: the ids of the messages that the client has posted. One that a subagent's call names stays the client's.
        """
        before = Owned() if self._before is None else self._before.owned(posted)
        opened = {
            (kind, id): owned
            for kind, owners in self._owner.items()
            for id, owned in owners.items()
            if isinstance(id, str) and (owned or (kind, id) in self._earlier)
            if not (kind == "message" and id in self._named and id in posted)
        }
        # The message that a call makes where it names none, or one that cannot hold it.
        calls = [id for (kind, id), owned in opened.items() if kind == "call" and owned]
        opened |= {("message", id): True for id in calls if self._known_here("message", id) is not False}
        return before.merged(Owned(opened))

    def _known(self, kind: str, id: Any) -> bool | None:
        known = self._owner[kind].get(id)
        if known is None:  # else two calls less for each token
            known = self._known_here(kind, id)
            return True if known is None and (kind, id) in self._earlier else known
        return known

    def _known_here(self, kind: str, id: Any) -> bool | None:
        known = self._owner[kind].get(id)
        return self._before._known_here(kind, id) if known is None and self._before is not None else known

    def _owns(self, kind: str, id: Any) -> bool:
        return self._known(kind, id) is True

    def _assign(self, kind: str, id: Any, owned: bool) -> None:
        if owned or kind in _REMEMBERED or (kind, id) in self._earlier:
            self._owner[kind][id] = owned
        else:
            self._owner[kind].discard(id)

    def _learn(self, kind: str, id: Any, owned: bool, takes: bool) -> None:
        id = as_id(id)
        if takes and owned and (kind, id) in self._open:
            self._open[kind, id] = True
        elif (takes and owned) or id not in self._owner[kind]:
            self._assign(kind, id, owned)

    def _opened(self, event: Event, kind: str, id: Any, mine: bool) -> bool:
        head = event.head
        if id is None and head.type in sets.CHUNKS and head.messageId is head.toolCallId is UNSET:
            return mine  # a chunk that continues something unknown
        known = self._known_here(kind, id)
        owned = mine or known is True
        if kind == "call" and known is None:
            # A call belongs to the message that it names. Without a name it makes one under the call's own id.
            message = id if head.parentMessageId is UNSET else as_id(head.parentMessageId)
            owned = owned or self._owns("message", message)
            if self._known("message", message) is None:
                self._assign("message", message, owned)
                self._named.add(message)
        if kind == "activity" and known is False and event.get("replace") is False:
            owned = False  # it adds to the parent's activity, and takes nothing over
        if kind == "message":
            self._named.discard(id)
        self._assign(kind, id, owned)
        if head.type in OPENS:
            self._open.setdefault((kind, id), False)
        return owned or mine

    def _take_other(self, event: Event) -> bool:
        head = event.head
        if head.type in STEP_TYPES:
            return self._take_nameless(head, self._steps.take(head))
        if head.type in THINKING_TYPES:
            return self._take_nameless(head, self._thinking.take(head))
        if head.type in sets.ANSWERS:
            return self._answered(head)
        if head.type in sets.WITH_MESSAGES:
            self.reread(event)
        if head.type in sets.BEGINS_A_RUN:
            self._steps.begin_run()
            self._thinking.begin_run()
            self._open.clear()
        if head.type in sets.OF_A_SUBAGENT:
            return True
        if head.type in sets.OF_THE_RUN:
            return False
        return tagged(head.subagentRunId) or self._names_owned(event)

    def _take_nameless(self, head: Head, owned: bool) -> bool:
        if self._nameless is None:
            return owned
        if not owned and self._before is not None and self._before._nameless is not None:
            owned = not self._before._nameless.allows(head, self._nameless)
        self._nameless.count(head, owned)
        return owned

    def _answered(self, head: Head) -> bool:
        """A result belongs to whoever asked, also where the other executed it, and a message that it begins with it."""
        call = self._known("call", as_id(head.toolCallId))
        owned = tagged(head.subagentRunId) if call is None else call
        if self._known("message", as_id(head.messageId)) is None:
            self._assign("message", as_id(head.messageId), owned)
        return owned

    def _names_owned(self, event: Event) -> bool:
        """Whether an encrypted value, or an event of a type from after 1.1, is about a subagent's entity."""
        head = event.head
        if head.type in sets.OF_A_HOLDER:
            subtype = event.get("subtype")
            kinds = _ENCRYPTED.get(subtype, self._owner) if isinstance(subtype, str) else self._owner
            return any(self._owns(kind, as_id(head.entityId)) for kind in kinds)
        if head.type in _KNOWN:
            return False
        ids = set(map(as_id, (head.messageId, head.toolCallId, head.entityId, head.parentMessageId))) - {None}
        return any(self._owns(kind, id) for kind in self._owner for id in ids)


def _named(message: JsonObject) -> tuple[str, str | None]:
    """The bucket and the id of a message."""
    role = as_id(message.get("role"))
    return role if role in ("reasoning", "activity") else "message", as_id(message.get("id"))
