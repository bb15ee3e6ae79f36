"""The messages that a client holds after a stream, by the rules of AG-UI 1.0.

The rules are those of the specification and of @ag-ui/client 1.0.0 (`apply/default`): a message is looked up as the first of
its id, whatever its role; a result goes behind the message with its call; a snapshot keeps the places of known messages.
What the client only warns about, such as text for an unknown message, changes nothing here, and malformed events do not
either. Activities are known by id and type alone, since no client posts them. Work per event is constant, but for
MESSAGES_SNAPSHOT and RUN_STARTED, which cost as much as they bring, and each message that a snapshot leaves in place, which
counts against the budget.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from msgspec import Raw

from agui_middleware.protocol.budget import OVERHEAD, Budget
from agui_middleware.protocol.chunk_lanes import CLOSES_SOME, ID_OF, Lanes
from agui_middleware.protocol.conversation_entries import Call, Entry
from agui_middleware.protocol.event import UNSET, Event, as_id
from agui_middleware.protocol.json_object import MalformedEvent
from agui_middleware.protocol.posted import MessageHead, Messages, messages_in

_OBJECT: Final = 4 * OVERHEAD
"""What a message or call of the stream's counts beside its strings."""
_LEFT_IN_PLACE: Final = OVERHEAD // 4
"""What a message counts that a snapshot leaves in place and does not bring: nothing else bounds how often that happens."""
_ROLES: Final = frozenset({"user", "assistant", "system", "developer", "tool", "reasoning", "activity"})


class Reading(NamedTuple):
    """In what a release reads a stream differently from 1.0.0. The default is 1.0.0."""

    strips: frozenset[str] = frozenset()
    """The members that it keeps on no message and no call."""
    part_members: bool = True
    """Whether content parts keep their `id`, and texts among them their `metadata`."""
    names: bool = True
    """Whether a text has the name that its START brings."""
    results_last: bool = False
    """Whether a result stands where it has arrived."""
    results_late: bool = False
    """Whether a result is posted only if another event follows that changes a message."""
    echo: bool = True
    """Whether an input echo brings messages."""
    replaces: bool = False
    """Whether a snapshot is all that is left, in its own order."""
    keeps_reasoning: bool | None = None
    """Whether reasoning outlives every snapshot (`True`), or none that leaves it out (`False`)."""
    roles: frozenset[str] = _ROLES
    """The roles of the messages that it takes from a stream."""
    as_assistant: frozenset[str] = frozenset()
    """The roles whose streamed texts it takes for the assistant's."""
    snapshots: bool = True
    """Whether it applies MESSAGES_SNAPSHOT."""
    own_results: bool = False
    """Whether it posts results of tools under ids of its own."""
    moves_calls: bool = False
    """Whether it may post the calls of a message that says nothing in another message."""


AS_1_0_0: Final = Reading()


class Conversation:
    """Feed it events with `take`; `messages()` are what the client holds.

    - `messages`: those that it held when the run began. Those that no event changes stay the very same pairs.
    - `budget`: for all that events bring. Every method that takes some raises `EventTooLarge` where it exceeds the budget.
    """

    def __init__(
        self,
        messages: Iterable[tuple[MessageHead, Raw]] = (),
        reading: Reading = AS_1_0_0,
        budget: Budget | None = None,
    ) -> None:
        self.reading: Reading = reading
        self.budget: Budget = budget or Budget()
        self.lanes: Lanes = Lanes(self.budget)
        self._restated = 0  # what the messages of the last snapshot count
        self._calls: dict[str, tuple[Entry, Call | None]] = {}  # the second is read when somebody asks for it
        self._restate([Entry(head, raw) for head, raw in messages])

    def take(self, event: Event) -> None:
        """Apply one event. It raises nothing else for what the wire brings."""
        type = event.head.type
        try:
            if type in ID_OF:
                target, delta = self.open_chunk(event), delta_of(event)
                if target is not None and delta is not None:
                    self.append(*target, delta)
                return
            if type in CLOSES_SOME:
                self.lanes.close(event)
            rule = _RULES.get(type)
            if rule is not None:
                rule(self, event)
        except MalformedEvent:
            return  # a member that is no JSON: no client has read the event

    def open_chunk(self, chunk: Event) -> tuple[str, bool] | None:
        """Apply all of a chunk but its delta. Return what that is appended to: an id, and whether it is a call's.

        `None` where the chunk stands for no CONTENT.
        """
        try:
            match = self.lanes.take(chunk)
        except LookupError:
            return None
        if match is None or (not match.opened and match.lane.contradicted_by(chunk)):
            return None
        type, id = match.lane.type, match.lane.id
        to_call = type == "TOOL_CALL_CHUNK"
        if match.opened:
            self._opened(type, id, chunk)
        self._merge_metadata(self.call(id) if to_call else self.find(id), chunk)
        has_content = "delta" in chunk or "rawEvent" in chunk or (not match.opened and "metadata" in chunk)
        return (id, to_call) if has_content else None

    def messages(self) -> Messages:
        """The messages, in order."""
        return [entry.message() for entry in self]

    def __iter__(self) -> Iterator[Entry]:
        entry = self._first.next
        while entry is not None:
            yield entry
            entry = entry.next

    def find(self, id: Any) -> Entry | None:
        """The first message of an id."""
        return self._by_id.get(id) if type(id) is str else None

    def call(self, id: Any) -> Call | None:
        """The first tool call of an id."""
        found = self._calls.get(id) if type(id) is str else None
        if found is None:
            return None
        holder, call = found
        if call is None:
            for each in holder.calls():  # all at once: to look for each in a message of many would be quadratic
                if self._calls.get(each.id) == (holder, None):
                    self._calls[each.id] = holder, each
        return self._calls[id][1]

    def append(self, id: str, to_call: bool, delta: str) -> None:
        """Append to the text of a message, or to the arguments of a call. An empty delta too makes a message's text."""
        target = self.call(id) if to_call else self.find(id)
        if target is not None and target.append(delta):
            self.budget.hold(len(delta))

    def take_content(self, event: Event, id: str, to_call: bool) -> None:
        """Apply a CONTENT or ARGS event to the entity that it is about, or an END; the lanes of chunks do not change."""
        delta = delta_of(event)
        if delta is not None:
            self.append(id, to_call, delta)
        self._merge_metadata(self.call(id) if to_call else self.find(id), event)

    # Events

    def _opened(self, type: str, id: str, event: Event) -> None:
        if type.startswith("TOOL_CALL"):
            self._open_call(id, event)
        else:
            self._open(id, event, "reasoning" if type.startswith("REASONING") else event.get("role", "assistant"))

    def _start(self, event: Event) -> None:
        head = event.head
        id = as_id(head.toolCallId if head.type == "TOOL_CALL_START" else head.messageId)
        if id is not None:
            self._opened(head.type, id, event)

    def _open(self, id: str, event: Event, role: Any) -> None:
        if role == "reasoning" and role not in self.reading.roles:
            return
        if role in self.reading.as_assistant:
            role = "assistant"
        entry = self.find(id)
        if entry is None:
            members = {"id": id, "role": role, "content": ""}
            if self.reading.names and isinstance(name := event.get("name"), str) and role != "reasoning":
                members["name"] = name
            entry = self._append_new(members, event)
        self._merge_metadata(entry, event)

    def _open_call(self, id: str, event: Event) -> None:
        call, name = self.call(id), event.get("toolCallName")
        if call is None:
            holder = self._holder(id, event)
            self.budget.hold(_OBJECT + len(id))
            call = holder.add_call(id)
            self._calls[id] = holder, call
        if isinstance(name, str):
            self.budget.hold(len(name))
            call.name = name
        self._merge_metadata(call, event)

    def _holder(self, id: str, event: Event) -> Entry:
        """The assistant message that a new call names, or else one made for it."""
        parent = as_id(event.head.parentMessageId)
        existing = self.find(parent) if parent else None
        if existing is not None and existing.role == "assistant":
            return existing
        minted = parent if parent and existing is None else id
        members = {"id": minted, "role": "assistant"}
        return self._append_new(members, event if self.find(minted) is None else None)

    def _append_new(self, members: dict[str, Any], event: Event | None) -> Entry:
        tag = UNSET if event is None else event.head.subagentRunId
        if isinstance(tag, str) and "subagentRunId" not in self.reading.strips:
            members["subagentRunId"] = tag
        entry = self._new(members)
        self._insert(entry, self._last)
        return entry

    def _new(self, members: dict[str, Any]) -> Entry:
        sizes = (len(bytes(value) if type(value) is Raw else str(value)) for value in members.values())
        self.budget.hold(_OBJECT + sum(sizes))
        return Entry.new(members)

    def _content(self, event: Event) -> None:
        head = event.head
        to_call = head.type.startswith("TOOL_CALL")
        id = as_id(head.toolCallId if to_call else head.messageId)
        if id is not None:
            self.take_content(event, id, to_call)

    def _result(self, event: Event) -> None:
        head = event.head
        id, call = as_id(head.messageId), as_id(head.toolCallId)
        content = event.members().get("content", UNSET)
        if id is None or call is None or content is UNSET or "tool" not in self.reading.roles:
            return
        own = content.copy() if type(content) is Raw else content  # the event may be far larger
        members: dict[str, Any] = {"id": id, "role": "tool", "toolCallId": call, "content": own}
        if isinstance(head.subagentRunId, str) and "subagentRunId" not in self.reading.strips:
            members["subagentRunId"] = head.subagentRunId
        entry = self._new(members)
        self._merge_metadata(entry, event)
        holder, _ = self._calls.get(call, (None, None))
        stands_last = self.reading.results_last or holder is None or holder.role != "assistant"
        self._insert(entry, self._last if stands_last or holder is None else holder.last_result())

    def _encrypted(self, event: Event) -> None:
        id, value = as_id(event.head.entityId), event.get("encryptedValue")
        if id is None or not isinstance(value, str) or "encryptedValue" in self.reading.strips:
            return
        target = self.call(id) if event.get("subtype") == "tool-call" else self.find(id)
        if target is not None:
            self.budget.hold(len(value))
            target.set("encryptedValue", value)

    def _activity(self, event: Event) -> None:
        id = as_id(event.head.messageId)
        if id is None:
            return
        entry, activity = self.find(id), {"id": id, "role": "activity", "activityType": event.get("activityType")}
        if entry is None:
            self._append_new(activity, event)
        elif event.get("replace") is not False and entry.role != "activity":
            entry.become(activity)

    def _begin(self, event: Event) -> None:
        echo = event.get_object("input") if self.reading.echo else None
        for head, raw in () if echo is None else messages_in(echo):
            if head.role in self.reading.roles and self.find(head.id) is None:
                self.budget.hold(_OBJECT + len(bytes(raw)))
                self._insert(Entry(head, raw.copy()), self._last)

    def _snapshot(self, event: Event) -> None:
        if not self.reading.snapshots:
            return
        if event.get_raw_list("messages") is None and not isinstance(event.get("messages"), list):
            return
        roles = self.reading.roles
        snapshot = [Entry(head, raw) for head, raw in messages_in(event) if head.role in roles and head.id is not None]
        self.budget.release(self._restated)
        self._restated = 0
        self.budget.hold(_OBJECT * len(snapshot))
        self._restated = _OBJECT * len(snapshot)
        for entry in snapshot:
            entry.borrowed = True
        self._restate(snapshot if self.reading.replaces else self._reconciled(snapshot, event))

    # The list

    def _reconciled(self, snapshot: list[Entry], event: Event) -> list[Entry]:
        copies = {entry.id: entry for entry in snapshot}
        preserves = self._preserves(snapshot, event)
        kept: list[Entry] = []
        known: set[str | None] = set()
        for entry in self:
            copy = None if self._keeps(entry) else copies.get(entry.id)
            if copy is not None and entry.id in known:
                self.budget.hold(_LEFT_IN_PLACE)
                copy = Entry(*copy.message())  # two messages of one id: each becomes the snapshot's
            if copy is None and preserves(entry):
                self.budget.hold(_LEFT_IN_PLACE + entry.detach())
                kept.append(entry)
                known.add(entry.id)
            elif copy is not None:
                kept.append(copy)
                known.add(entry.id)
        return kept + [entry for entry in snapshot if entry.id not in known]

    def _keeps(self, entry: Entry) -> bool:
        return entry.role == "reasoning" and self.reading.keeps_reasoning is True

    def _preserves(self, snapshot: list[Entry], event: Event) -> Callable[[Entry], bool]:
        """Which of the messages that a snapshot leaves out stay: what it has none of, unless it says that it has all."""
        roles = {entry.role for entry in snapshot}
        metadata = event.get_object("metadata")
        client = None if metadata is None else metadata.get_object("@ag-ui/client")
        claim = UNSET if client is None else client.get("authoritativeActivityTypes", UNSET)

        def preserves(entry: Entry) -> bool:
            if entry.role == "activity":
                inferred = claim is UNSET and "activity" not in roles
                return inferred or (isinstance(claim, list) and entry.get("activityType") not in claim)
            if entry.role == "reasoning" and self.reading.keeps_reasoning is not None:
                return self.reading.keeps_reasoning
            return entry.role == "reasoning" and "reasoning" not in roles

        return preserves

    def _restate(self, entries: list[Entry]) -> None:
        self._first = self._last = Entry(MessageHead(), Raw(b"{}"))
        self._by_id: dict[str, Entry] = {}
        self._calls.clear()
        for entry in entries:
            entry.next = None
            self._insert(entry, self._last)

    def _insert(self, entry: Entry, behind: Entry) -> None:
        entry.next, behind.next = behind.next, entry
        if entry.next is None:
            self._last = entry
        if entry.id is not None:
            self._by_id.setdefault(entry.id, entry)
        for id in entry.call_ids():
            self._calls.setdefault(id, (entry, None))

    def _merge_metadata(self, target: Entry | Call | None, event: Event) -> None:
        if target is None or "metadata" in self.reading.strips or not event.may_contain(b'"metadata"'):
            return
        added = event.get_object("metadata")
        if added is not None:
            self.budget.hold(len(added.raw))
            target.merge_metadata({n: v.copy() if type(v) is Raw else v for n, v in added.members().items()})


def delta_of(event: Event) -> str | None:
    """What an event appends; of a chunk without a delta the empty string. Raises `MalformedEvent`."""
    delta = event.get("delta", "" if event.head.type in ID_OF else None)
    return delta if isinstance(delta, str) else None


_RULES: Final[dict[str, Callable[[Conversation, Event], None]]] = {
    "TEXT_MESSAGE_START": Conversation._start,
    "TEXT_MESSAGE_CONTENT": Conversation._content,
    "TEXT_MESSAGE_END": Conversation._content,
    "REASONING_MESSAGE_START": Conversation._start,
    "REASONING_MESSAGE_CONTENT": Conversation._content,
    "REASONING_MESSAGE_END": Conversation._content,
    "TOOL_CALL_START": Conversation._start,
    "TOOL_CALL_ARGS": Conversation._content,
    "TOOL_CALL_END": Conversation._content,
    "TOOL_CALL_RESULT": Conversation._result,
    "REASONING_ENCRYPTED_VALUE": Conversation._encrypted,
    "ACTIVITY_SNAPSHOT": Conversation._activity,
    "RUN_STARTED": Conversation._begin,
    "MESSAGES_SNAPSHOT": Conversation._snapshot,
}
