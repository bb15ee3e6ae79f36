"""The plainest filters that hide and inline subagents.

They expand every chunk, keep nothing of the input's bytes, and read the whole stream before they judge its first event:
no middleware could be one. So they are short enough to be believed, and tell what must come out, event by event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import Owners, owners, untagged, without_subagents
from .reader.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .reader import Json, Owner


def hidden(events: list[Json], judge: Callable[[Owners, Json], Owner] | None = None) -> list[Json]:
    """The parent's events, expanded. `judge` tells the owner of an event, None for the parent: `owner_of`."""
    known, lanes, judge = owners(events), Lanes(), judge or owner_of
    shown = [_listed(event) for origin in events for event in lanes.expand(origin) if judge(known, event) is None]
    relisted = [_relisted(event, lambda messages: without_subagents(messages, events)) for event in untagged(shown)]
    return [_without_calls(event, known) for event in relisted]


def inlined(events: list[Json]) -> list[Json]:
    """All events but the lifecycle and the steps of subagents, expanded and untagged."""
    lanes = Lanes()
    shown = [event for origin in events for event in lanes.expand(origin) if not _is_lifecycle(event)]
    return [_relisted(event, untagged) for event in untagged(shown)]


def owner_of(known: Owners, event: Json) -> Owner:
    """Whose an expanded event is. State is the run's, a result its call's, a step or an opaque event its tag's."""
    tag: Owner = event.get("subagentRunId")
    match event:
        case {"type": "STATE_SNAPSHOT" | "STATE_DELTA"}:
            return None
        case {"toolCallId": str() as call} | {"subtype": "tool-call", "entityId": str() as call}:
            return known.tool.get(call, tag)
        case {"entityId": str() as entity}:
            return known.message.get(entity, known.reasoning.get(entity, tag))
        case {"type": str() as type_, "messageId": str() as message}:
            kinds = {"TEXT": known.message, "REASONING": known.reasoning, "ACTIVITY": known.activity}
            return kinds[type_.split("_")[0]][message]
    return tag


def _listed(event: Json) -> Json:
    """What a subagent sends of the run's state, or for a call of the parent's, without what else it says with it."""
    if "subagentRunId" not in event:
        return event
    gone = {"STATE_SNAPSHOT": {"rawEvent", "metadata"}, "STATE_DELTA": {"rawEvent", "metadata"}}
    dropped = gone.get(event["type"], {"rawEvent"} if event["type"] == "TOOL_CALL_RESULT" else set())
    return {name: value for name, value in event.items() if name not in dropped}


def _is_lifecycle(event: Json) -> bool:
    return event["type"].startswith("SUBAGENT") or (event["type"].startswith("STEP") and "subagentRunId" in event)


def _relisted(event: Json, rewrite: Callable[[Iterable[Json]], list[Json]]) -> Json:
    match event:
        case {"messages": messages}:
            return event | {"messages": rewrite(messages)}
        case {"input": {"messages": messages} as echo}:
            return event | {"input": echo | {"messages": rewrite(messages)}}
        case {"outcome": {"interrupts": interrupts} as outcome}:
            return event | {"outcome": outcome | {"interrupts": untagged(interrupts)}}
    return event


def _without_calls(event: Json, known: Owners) -> Json:
    match event:
        case {"outcome": {"pendingToolCallIds": pending} as outcome}:
            shown = [call for call in pending if known.tool.get(call) is None]
            return event | {"outcome": outcome | {"pendingToolCallIds": shown}}
    return event
