"""The messages that a client holds after a stream, by the rules of AG-UI 1.0.

The rules are those of the specification and of @ag-ui/client 1.0.0 (`apply/default`): a message is looked up as the first of
its id, whatever its role; a result goes behind the message with its call; a snapshot keeps the places of known messages.
What the client only warns about, such as text for an unknown message, changes nothing here, and malformed events do not
either. Activities are known by id and type alone, since no client posts them. Work per event is constant, but for
MESSAGES_SNAPSHOT and RUN_STARTED, which cost as much as they bring, and each message that a snapshot leaves in place, which
counts against the budget.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Raw

from agui_middleware.protocol.budget import OVERHEAD, Budget
from agui_middleware.protocol.chunk_lanes import CLOSES_SOME, ID_OF, Lanes, delta_of
from agui_middleware.protocol.conversation_entries import Call, Entry
from agui_middleware.protocol.event import UNSET, Event, as_id
from agui_middleware.protocol.json_object import MalformedEvent
from agui_middleware.protocol.message_list import MessageList
from agui_middleware.protocol.posted import MessageHead, Messages, messages_in
from agui_middleware.protocol.reading import AS_1_0_0, Reading
from agui_middleware.protocol.snapshot_places import with_snapshot

_OBJECT: Final = 4 * OVERHEAD
"""What a message or call of the stream's counts beside its strings."""


class Conversation(MessageList):
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
        super().__init__(Entry(head, raw) for head, raw in messages)

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
        entry = self._new(members, event)
        self._insert(entry, self._last)
        return entry

    def _new(self, members: dict[str, Any], event: Event | None) -> Entry:
        tag = UNSET if event is None else event.head.subagentRunId
        if isinstance(tag, str) and "subagentRunId" not in self.reading.strips:
            members["subagentRunId"] = tag
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
        entry = self._new(members, event)
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
        replaces = self.reading.replaces
        self._restate(snapshot if replaces else with_snapshot(self, snapshot, event, self.reading, self.budget))

    def _merge_metadata(self, target: Entry | Call | None, event: Event) -> None:
        if target is None or "metadata" in self.reading.strips or not event.may_contain(b'"metadata"'):
            return
        added = event.get_object("metadata")
        if added is not None:
            self.budget.hold(len(added.raw))
            target.merge_metadata({n: v.copy() if type(v) is Raw else v for n, v in added.members().items()})


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
