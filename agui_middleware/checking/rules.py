"""Which events old releases refuse, where the filter of a row does not tell: one rule a row.

A rule is begun for each stream and asked about each event in order: those of `DECODED` about events as they come, those of
`VERIFIED` about them with the chunks expanded.
"""

from collections.abc import Callable
from typing import Any, Final

from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.event import UNSET, Event, JsonObject
from agui_middleware.protocol.messages import messages_of
from agui_middleware.protocol.releases import ClientVersion

Refuses = Callable[[Event], bool]
Rule = Callable[[ClientVersion], Refuses]

_STARTS: Final = {"TEXT_MESSAGE_START": "messageId", "TOOL_CALL_START": "toolCallId"}
_CONTENTS: Final = {"TEXT_MESSAGE_CONTENT": "messageId", "TOOL_CALL_ARGS": "toolCallId"}
_ENDS: Final = {"TEXT_MESSAGE_END": "messageId", "TOOL_CALL_END": "toolCallId"}
READS_THINKING: Final = ClientVersion(0, 0, 45)


def null_parents(_: ClientVersion) -> Refuses:
    """A tool call, or a chunk of one, whose `parentMessageId` is null."""
    return lambda event: event.type in ("TOOL_CALL_START", "TOOL_CALL_CHUNK") and event.head.parentMessageId is None


def foreign_roles(_: ClientVersion) -> Refuses:
    """A text whose role is absent, or not the assistant's; a chunk may leave it out."""
    absent = {"TEXT_MESSAGE_START": None, "TEXT_MESSAGE_CHUNK": "assistant"}
    return lambda event: event.type in absent and event.get("role", absent[event.type]) != "assistant"


def binary_parts_without_place(_: ClientVersion) -> Refuses:
    """A `binary` part that says with no string where its data are, or has a null member."""

    def refuses(event: Event) -> bool:
        carried = messages_of(event) if event.type in ("MESSAGES_SNAPSHOT", "RUN_STARTED") else None
        messages = [message for message in carried or () if isinstance(message, JsonObject)]
        return any(_is_refused(part) for message in messages for part in message.get_list("content") or ())

    return refuses


def _is_refused(part: object) -> bool:
    if not isinstance(part, JsonObject) or part.get("type") != "binary":
        return False
    values = [part.get(name, UNSET) for name in ("data", "url", "id", "filename")]
    return None in values or not any(isinstance(value, str) and value for value in values[:3])


def thinking_outside(client: ClientVersion) -> Refuses:
    """A `title` that is null; but in 0.0.45, which reads it as 1.0.0 does, a message outside of a span."""
    open = client == READS_THINKING

    def refuses(event: Event) -> bool:
        nonlocal open
        if event.type == "THINKING_START":
            open = True
            return event.get("title", "") is None
        if event.type == "THINKING_END":
            open = client == READS_THINKING
        return event.type == "THINKING_TEXT_MESSAGE_START" and not open

    return refuses


def unfitting_chunks(_: ClientVersion) -> Refuses:
    """A chunk that could not be expanded."""
    return lambda event: event.type in ID_OF


def steps_of_one_name(_: ClientVersion) -> Refuses:
    """A step that begins while another of its name is open: a subagent's counts as the parent's."""
    open: set[Any] = set()

    def refuses(event: Event) -> bool:
        name = event.head.stepName
        if event.type == "STEP_STARTED" and isinstance(name, str):
            known = name in open
            open.add(name)
            return known
        if event.type == "STEP_FINISHED":
            open.discard(name)
        return False

    return refuses


def behind_an_error(_: ClientVersion) -> Refuses:
    """Anything behind a RUN_ERROR."""
    errored = False

    def refuses(event: Event) -> bool:
        nonlocal errored
        refused, errored = errored, errored or event.type == "RUN_ERROR"
        return refused

    return refuses


def behind_the_first_run(_: ClientVersion) -> Refuses:
    """Anything but RUN_ERROR behind RUN_FINISHED, and a second RUN_STARTED."""
    started = finished = False

    def refuses(event: Event) -> bool:
        nonlocal started, finished
        refused = (finished and event.type != "RUN_ERROR") or (started and event.type == "RUN_STARTED")
        started, finished = started or event.type == "RUN_STARTED", finished or event.type == "RUN_FINISHED"
        return refused

    return refuses


def interleaved(_: ClientVersion) -> Refuses:
    """Anything but its content, its end and RAW while a text or a tool call is open."""
    open: tuple[str, Any] | None = None

    def refuses(event: Event) -> bool:
        nonlocal open
        type = event.type
        if open is None:
            member = _STARTS.get(type)
            open = None if member is None else (member, event.get(member))
            return False
        member = _CONTENTS.get(type) or _ENDS.get(type)
        refused = type != "RAW" and (member is None or (member, event.get(member)) != open)
        if type in _ENDS and not refused:
            open = None
        return refused

    return refuses


DECODED: Final[dict[str, Rule]] = {
    "binary-parts": binary_parts_without_place,
    "null-parents": null_parents,
    "subagents": steps_of_one_name,
    "text-roles": foreign_roles,
    "thinking": thinking_outside,
}
VERIFIED: Final[dict[str, Rule]] = {
    "chunks": unfitting_chunks,
    "interleaving": interleaved,
    "runs-after-error": behind_an_error,
    "several-runs": behind_the_first_run,
}

# Rows that change exactly the events which are refused without them, in the same two places. What is nowhere here refuses
# nothing: its release reads the stream to its end, and otherwise than it was meant.
DECODED_AS_CHANGED: Final = frozenset(
    {
        "activities",
        "empty-deltas",
        "file-sources",
        "input-lists",
        "media-parts",
        "outcomes",
        "reasoning-messages",
        "result-parts",
        "unknown-members",
        "user-parts",
    }
)
VERIFIED_AS_CHANGED: Final = frozenset({"nested-steps", "unchanged-runs"})
