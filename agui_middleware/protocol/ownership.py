"""What a stream's subagents own: the bookkeeping behind `hidden`.

An entity belongs to whoever opened it first, and keeps belonging to it after it was closed and across the runs of one
stream: continuations, results, encrypted values and step ends often carry no tag, and may come long after the subagent has
ended. Only snapshots give an entity to somebody else. The rules are those of @ag-ui/client 1.0.0's verification. Memory
grows with the entities that a stream has opened, not with its events.
"""

from collections import Counter
from typing import Any, Final

from agui_middleware.protocol.event import UNSET, Event, Head, JsonObject, as_id
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.messages import calls_of, messages_of

# The kind of entity that an event is about, and the member that names it. For THINKING_* events, see `Thinking`.
_ENTITY: Final[dict[str, tuple[str, str]]] = {
    type: (kind, member)
    for kind, member, types in (
        ("message", "messageId", "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TEXT_MESSAGE_CHUNK"),
        ("call", "toolCallId", "TOOL_CALL_START TOOL_CALL_ARGS TOOL_CALL_END TOOL_CALL_CHUNK"),
        ("reasoning", "messageId", "REASONING_START REASONING_END REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT"),
        ("reasoning", "messageId", "REASONING_MESSAGE_END REASONING_MESSAGE_CHUNK"),
        ("activity", "messageId", "ACTIVITY_SNAPSHOT ACTIVITY_DELTA"),
    )
    for type in types.split()
}
_OPENERS: Final = frozenset(
    {"TEXT_MESSAGE_START", "TOOL_CALL_START", "REASONING_START", "REASONING_MESSAGE_START"}
    | {"TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK", "ACTIVITY_SNAPSHOT"}
)
_CHUNKS: Final = frozenset({"TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"})
_REMEMBERED: Final = frozenset({"call", "activity", "message"})  # of the parent's
_SPANS: Final = frozenset({"TEXT_MESSAGE_START", "TOOL_CALL_START", "REASONING_MESSAGE_START"})  # closed by an END
_CLOSERS: Final = frozenset({"TEXT_MESSAGE_END", "TOOL_CALL_END", "REASONING_MESSAGE_END"})
_OF_THE_RUN: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STATE_SNAPSHOT", "STATE_DELTA"})
_KNOWN: Final = frozenset(EventType)
_ENCRYPTED: Final = {"message": ("message", "reasoning"), "tool-call": ("call",)}  # by subtype; of another, any kind
LIFECYCLE: Final = frozenset({"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"})


def tagged(tag: Any) -> bool:
    """Whether a `subagentRunId` names a subagent; one of a wrong type counts, so that hiding fails closed."""
    return tag is not UNSET and tag is not None


class Steps:
    """Which steps are whose. A step end belongs to whoever has a step of that name open, the parent first.

    A subagent's that its run left open stays its own: of the next run's parent, only what that opens is.
    """

    def __init__(self) -> None:
        self._parents: set[Any] = set()
        self._subagents: Counter[Any] = Counter()

    def take(self, head: Head) -> bool:
        """Whether a STEP_STARTED or STEP_FINISHED is a subagent's."""
        name = head.stepName if isinstance(head.stepName, str) else None
        if tagged(head.subagentRunId):
            started = head.type == "STEP_STARTED"
            self._subagents[name] = self._subagents[name] + 1 if started else max(self._subagents[name] - 1, 0)
            return True
        if head.type == "STEP_STARTED":
            self._parents.add(name)
            return False
        if name in self._parents:
            self._parents.remove(name)
            return False
        return self._subagents[name] > 0

    def begin_run(self) -> None:
        """Forget what the parent's last run left open."""
        self._parents.clear()


class Thinking:
    """Whose THINKING_* events are whose. They name nothing: what a subagent has opened is closed by the next end.

    So the parent's own thinking is dropped while a subagent's is open. Nothing in the stream tells the two apart.
    """

    def __init__(self) -> None:
        self._spans = 0  # of subagents, open
        self._text = False  # whether a subagent has a text open

    def take(self, head: Head) -> bool:
        """Whether a THINKING_* event is a subagent's."""
        owned = tagged(head.subagentRunId) or self._spans > 0 or self._text
        if head.type == "THINKING_START" and owned:
            self._spans += 1
            self._text = False
        elif head.type == "THINKING_END":
            self._spans = max(self._spans - 1, 0)
            self._text = False
        elif head.type == "THINKING_TEXT_MESSAGE_START":
            self._text = owned
        elif head.type == "THINKING_TEXT_MESSAGE_END":
            self._text = False
        return owned

    def begin_run(self) -> None:
        """Forget what the last run left open."""
        self._spans, self._text = 0, False


class Ownership:
    """Tells of every event of a response, fed in order, whether a subagent produced it.

    Chunks are to carry their resolved id (`agui_middleware.protocol.chunk_lanes`). What belongs to the run, its state and
    its snapshots above all, is nobody's, whatever its tag says.

    `before`: what was told of the same response before filters dropped some of it. It knows whose that was.
    """

    __slots__ = ("_before", "_open", "_owner", "_steps", "_thinking")

    def __init__(self, before: "Ownership | None" = None) -> None:
        self._before = before
        # By kind and id, whether a subagent owns it. Of the parent's reasoning nothing is remembered: nothing depends on it.
        # The rest for good: a result or a snapshot may name a call, and a call a message, long after its end.
        self._owner: dict[str, dict[Any, bool]] = {kind: {} for kind, _ in _ENTITY.values()}
        # What is between START and END keeps its owner until it closes; if a snapshot gave it away, who gets it then.
        self._open: dict[tuple[str, Any], bool | None] = {}
        self._steps = Steps()
        self._thinking = Thinking()

    def take(self, event: Event) -> bool:
        """Whether a subagent produced `event`; an entity that it opens is remembered."""
        head = event.head
        type = head.type
        entity = _ENTITY.get(type)
        if entity is None:
            return self._take_other(event)
        kind, member = entity
        id, mine = getattr(head, member), tagged(head.subagentRunId)
        if not isinstance(id, str):
            id = None
        if type in _OPENERS:
            return self._opened(event, kind, id, mine)
        owned = mine or self._owns(kind, id)
        if type in _CLOSERS:
            given = self._open.pop((kind, id), None)
            if given is not None:
                self._assign(kind, id, given)
        return owned

    def owns_message(self, message: JsonObject) -> bool:
        """Whether a message of a snapshot is a subagent's; a tool message goes where its call went."""
        call = self._known("call", as_id(message.get("toolCallId"))) if message.get("role") == "tool" else None
        return tagged(message.get("subagentRunId", UNSET)) if call is None else call

    def owns_echoed(self, message: JsonObject) -> bool:
        """Whether a message of an input echo is a subagent's: also where it has lost its tag on the way."""
        role = as_id(message.get("role"))
        kind = role if role in ("reasoning", "activity") else "message"
        return self.owns_message(message) or (role != "tool" and self._owns(kind, as_id(message.get("id"))))

    def owns_call(self, id: Any) -> bool:
        """Whether a subagent asked for the tool call `id`."""
        return self._owns("call", as_id(id))

    def reread(self, event: Event) -> None:
        """Learn who owns what from the messages of a MESSAGES_SNAPSHOT, or of a RUN_STARTED's input echo.

        A snapshot decides, for what is open once it closes; an echo tells only what nobody knows yet. So does a snapshot
        that a subagent has tagged, which the protocol does not provide for; what either then names is the subagent's.
        """
        foreign = tagged(event.head.subagentRunId)
        decides = event.type == "MESSAGES_SNAPSHOT" and not foreign
        owns = self.owns_message if decides else self.owns_echoed
        messages = [message for message in messages_of(event) or () if isinstance(message, JsonObject)]
        for message in messages:  # calls first: they decide whose the tool messages are
            mine = foreign or owns(message)
            for call in calls_of(message):
                self._learn("call", call.get("id"), mine, decides)
        for message in messages:
            mine, role = foreign or owns(message), message.get("role")
            self._learn("message", message.get("id"), mine, decides)
            if role in ("reasoning", "activity"):
                self._learn(role, message.get("id"), mine, decides)

    def _known(self, kind: str, id: Any) -> bool | None:
        known = self._owner[kind].get(id)
        return self._before._known(kind, id) if known is None and self._before is not None else known

    def _owns(self, kind: str, id: Any) -> bool:
        return self._known(kind, id) is True

    def _assign(self, kind: str, id: Any, owned: bool) -> None:
        if owned or kind in _REMEMBERED:
            self._owner[kind][id] = owned
        else:
            self._owner[kind].pop(id, None)

    def _learn(self, kind: str, id: Any, owned: bool, decides: bool) -> None:
        if decides and (kind, as_id(id)) in self._open:
            self._open[kind, as_id(id)] = owned
        elif decides or as_id(id) not in self._owner[kind]:
            self._assign(kind, as_id(id), owned)

    def _opened(self, event: Event, kind: str, id: Any, mine: bool) -> bool:
        head = event.head
        if id is None and head.type in _CHUNKS and head.messageId is head.toolCallId is UNSET:
            return mine  # it continues something, and nobody has said what
        known = self._known(kind, id)
        owned = mine or known is True
        if kind == "call" and known is None:
            # The message that it belongs to, which it begins where there is none: under the call's id, if it names none.
            message = id if head.parentMessageId is UNSET else as_id(head.parentMessageId)
            owned = owned or self._owns("message", message)
            if self._known("message", message) is None:
                self._assign("message", message, owned)
        if kind == "activity" and known is not None:
            # One that replaces takes the activity over, with or without a tag; `replace: false` only adds to it.
            owned = known if event.get("replace") is False else mine
        self._assign(kind, id, owned)
        if head.type in _SPANS:
            self._open.setdefault((kind, id), None)
        return owned or mine

    def _take_other(self, event: Event) -> bool:
        head = event.head
        if head.type in ("STEP_STARTED", "STEP_FINISHED"):
            return self._steps.take(head)
        if head.type.startswith("THINKING_"):
            return self._thinking.take(head)
        if head.type == "TOOL_CALL_RESULT":
            return self._answered(head)
        if head.type in ("RUN_STARTED", "MESSAGES_SNAPSHOT"):
            self.reread(event)
        if head.type == "RUN_STARTED":
            self._steps.begin_run()
            self._thinking.begin_run()
            self._open.clear()
        if head.type in LIFECYCLE:
            return True
        if head.type in _OF_THE_RUN:
            return False
        return tagged(head.subagentRunId) or self._names_owned(event)

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
        if head.type == "REASONING_ENCRYPTED_VALUE":
            subtype = event.get("subtype")
            kinds = _ENCRYPTED.get(subtype, self._owner) if isinstance(subtype, str) else self._owner
            return any(self._owns(kind, as_id(head.entityId)) for kind in kinds)
        if head.type in _KNOWN:
            return False
        ids = set(map(as_id, (head.messageId, head.toolCallId, head.entityId, head.parentMessageId))) - {None}
        return any(self._owns(kind, id) for kind in self._owner for id in ids)
