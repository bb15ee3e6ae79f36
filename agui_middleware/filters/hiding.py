"""What `hidden` decides about each event type, and what it takes out of the events that stay.

Nothing leaves that has not been shown to be the parent's. An event's own tag decides first, then whoever opened what the
event is about. The run's own events have to leave whoever sent them, or no client could read the run: of those that a
subagent has tagged, only the members leave that a client needs.
"""

from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from agui_middleware.protocol.event import UNSET, Event, JsonObject, MalformedEvent
from agui_middleware.protocol.event_kind import Carries
from agui_middleware.protocol.event_types import EVENT_KINDS, require_every_type
from agui_middleware.protocol.messages import edit_elements, edit_messages, edit_object
from agui_middleware.protocol.nameless_owners import tagged
from agui_middleware.protocol.ownership import Ownership

FAILED: Final = "A subagent failed the run."
"""The message of a RUN_ERROR whose own one is a subagent's."""


class Decision(StrEnum):
    """What happens to an event."""

    REMOVED = "removed"
    KEPT = "kept"
    BY_OPENER = "removed if a subagent has opened what it is about"
    BY_CALL = "removed if a subagent has made the call"
    BY_STEP = "removed if only subagents have a step of that name open"
    BY_THINKING = "removed while a subagent's thinking is open"
    LISTED = "only what is listed is kept"
    EDITED = "kept, without what is a subagent's in it"


class Policy(NamedTuple):
    """What happens to the events of a type.

    - `tagged`, `untagged`: to one with a `subagentRunId` of its own, and to one without.
    - `listed`: the members that a tagged one keeps where it is `LISTED`, or goes with its call.
    - `searched`: what is looked for in one that stays. Where that is impossible, the run ends with AGUI_MALFORMED_EVENT.
    """

    tagged: Decision
    untagged: Decision
    listed: tuple[str, ...] = ()
    searched: str = ""


_OPENED: Final = Policy(Decision.REMOVED, Decision.BY_OPENER)
_STEP: Final = Policy(Decision.REMOVED, Decision.BY_STEP)
_THOUGHT: Final = Policy(Decision.REMOVED, Decision.BY_THINKING)
_OPAQUE: Final = Policy(Decision.REMOVED, Decision.KEPT)
_GONE: Final = Policy(Decision.REMOVED, Decision.REMOVED)

OTHER: Final = _OPENED
"""The policy for types from after 1.1."""

POLICIES: Final = MappingProxyType(
    {
        "RUN_STARTED": Policy(
            Decision.LISTED,
            Decision.EDITED,
            ("threadId", "runId", "parentRunId", "protocolVersion", "timestamp"),
            "`input.messages`: messages and tool calls of subagents",
        ),
        "RUN_FINISHED": Policy(
            Decision.LISTED,
            Decision.EDITED,
            ("threadId", "runId", "outcome", "usage", "timestamp"),
            "`outcome.pendingToolCallIds`: calls of subagents; tags of `outcome.interrupts`",
        ),
        "RUN_ERROR": Policy(Decision.LISTED, Decision.KEPT, ("message", "usage", "timestamp")),
        "STEP_STARTED": _OPAQUE,
        "STEP_FINISHED": _STEP,
        **dict.fromkeys(("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"), _OPENED),
        **dict.fromkeys(("TEXT_MESSAGE_END", "TEXT_MESSAGE_CHUNK"), _OPENED),
        **dict.fromkeys(("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK"), _OPENED),
        "TOOL_CALL_RESULT": Policy(
            Decision.BY_CALL,
            Decision.BY_CALL,
            ("messageId", "toolCallId", "content", "role", "metadata", "timestamp"),
        ),
        **dict.fromkeys(("REASONING_START", "REASONING_END", "REASONING_ENCRYPTED_VALUE"), _OPENED),
        **dict.fromkeys(("REASONING_MESSAGE_START", "REASONING_MESSAGE_CONTENT"), _OPENED),
        **dict.fromkeys(("REASONING_MESSAGE_END", "REASONING_MESSAGE_CHUNK"), _OPENED),
        **dict.fromkeys(("THINKING_START", "THINKING_END", "THINKING_TEXT_MESSAGE_START"), _THOUGHT),
        **dict.fromkeys(("THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END"), _THOUGHT),
        "STATE_SNAPSHOT": Policy(Decision.LISTED, Decision.KEPT, ("snapshot", "timestamp")),
        "STATE_DELTA": Policy(Decision.LISTED, Decision.KEPT, ("delta", "timestamp")),
        "MESSAGES_SNAPSHOT": Policy(Decision.REMOVED, Decision.EDITED, searched="`messages`: messages of subagents"),
        "ACTIVITY_SNAPSHOT": _OPENED,
        "ACTIVITY_DELTA": _OPENED,
        "RAW": _OPAQUE,
        "CUSTOM": _OPAQUE,
        **dict.fromkeys(("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"), _GONE),
    }
)
"""By event type. `tests/filters/test_hiding.py` holds it against what `hidden` does."""

require_every_type(POLICIES, "agui_middleware.filters.hiding.POLICIES")

_LISTED: Final = {type: {"type", "subagentRunId", *policy.listed} for type, policy in POLICIES.items() if policy.listed}


def listed_members(event: Event) -> Event:
    """Of an event that leaves though a subagent has tagged it, the members that may leave."""
    listed = _LISTED.get(event.type)
    if listed is None or not tagged(event.head.subagentRunId):
        return event
    if event.type == "RUN_ERROR":
        event = event.replace(message=FAILED)
    return event.without(*(name for name in event if name not in listed))


def strip_hidden(event: Event, owners: Ownership) -> Event:
    """Take out of a run-level event what is a subagent's: messages, echoed messages and calls, the ids of pending calls.

    Raises `MalformedEvent` for messages in a shape that cannot be searched: hiding fails closed.
    """
    event = listed_members(event)
    kind = EVENT_KINDS.get(event.type)
    match kind and kind.carries:
        case Carries.OUTCOME:
            return edit_object(event, "outcome", lambda outcome: _visible_calls(outcome, owners))
        case Carries.MESSAGES:
            _require_messages(event)
            return edit_messages(event, lambda message: _visible_message(message, owners))
        case Carries.ECHO:
            echo = event.get_object("input")
            _require(echo is not None or event.get("input") is None, "the input echo is no object")
            if echo is not None:
                _require_messages(echo)
            if not owners.knows_earlier:
                return edit_object(event, "input", lambda input: input.replace(messages=[]))
            return edit_messages(event, lambda message: _visible_message(message, owners))
    return event


def _require_messages(holder: JsonObject) -> None:
    messages = holder.get_list("messages")
    _require(messages is not None or holder.get("messages") is None, "messages are not in a list")
    _require(all(isinstance(message, JsonObject) for message in messages or ()), "a message is no object")


def _require(searchable: bool, otherwise: str) -> None:
    if not searchable:
        raise MalformedEvent(otherwise)


def _visible_message(message: JsonObject, owners: Ownership) -> JsonObject | None:
    if owners.owns_message(message):
        return None
    edited = edit_elements(message, "toolCalls", lambda call: None if owners.owns_call(call.get("id")) else call)
    if edited is message or edited.get("toolCalls"):
        return edited
    return edited.without("toolCalls") if edited.get("content") else None


def _visible_calls(outcome: JsonObject, owners: Ownership) -> JsonObject:
    pending = outcome.get("pendingToolCallIds", UNSET)
    if not isinstance(pending, list) or not any(map(owners.owns_call, pending)):
        return outcome
    return outcome.replace(pendingToolCallIds=[id for id in pending if not owners.owns_call(id)])
