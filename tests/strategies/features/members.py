"""What an event shows by itself, whatever came before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ..words import MEDIA
from .situations import LIFECYCLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..reader import Json

LARGEST_EXACT = 2**53
_NAMED = {
    "metadata": "metadata",
    "timestamp": "timestamps",
    "rawEvent": "raw_events",
    "usage": "usage",
    "protocolVersion": "protocol_version",
    "input": "input_echo",
}
_TYPED = {
    "REASONING_ENCRYPTED_VALUE": "encrypted_values",
    "ACTIVITY_SNAPSHOT": "activities",
    "ACTIVITY_DELTA": "activities",
    "STATE_SNAPSHOT": "state",
    "STATE_DELTA": "state",
    "STEP_STARTED": "steps",
    "STEP_FINISHED": "steps",
    "TOOL_CALL_RESULT": "results",
    "MESSAGES_SNAPSHOT": "snapshots",
    "CUSTOM": "custom",
    "RAW": "raw",
    "RUN_ERROR": "run_errors",
    "TEXT_MESSAGE_CHUNK": "chunks",
    "TOOL_CALL_CHUNK": "chunks",
    "REASONING_MESSAGE_CHUNK": "chunks",
    "REASONING_MESSAGE_START": "reasoning",
    "REASONING_START": "reasoning",
    "SUBAGENT_STARTED": "announcements",
}


def members(event: Json) -> Iterator[str]:
    """Features told by the event's type, or by a member it has."""
    yield event["type"]
    if event["type"] in _TYPED:
        yield _TYPED[event["type"]]
    yield from (feature for member, feature in _NAMED.items() if member in event)
    yield from (f"{event['type']} {member}" for member in LIFECYCLE.get(event["type"], ()) if member in event)
    if event.get("delta") == "":
        yield "empty_deltas"
    if not event.get("snapshot", True):
        yield "falsy_state"
    if event["type"] in ("STATE_DELTA", "ACTIVITY_DELTA"):
        operations = event["delta" if "delta" in event else "patch"]
        yield from ("failing_patches" for operation in operations if operation["path"] == "/no/such/path")
    if event["type"] == "TOOL_CALL_RESULT" and isinstance(event["content"], list):
        yield "result_parts"
    yield from outcome(event)
    yield from values(event)


def outcome(event: Json) -> Iterator[str]:
    if event["type"] != "RUN_FINISHED":
        return
    told = event.get("outcome", {"type": "absent"})
    yield f"outcome {told['type']}"
    if told["type"] == "cancelled":
        yield "cancelled"
    if "pendingToolCallIds" in told:
        yield "pending_calls"
        yield "pending calls named" if told["pendingToolCallIds"] else "no pending calls named"
    for interrupt in told.get("interrupts", ()):
        yield "interrupts"
        yield from (f"interrupt {member}" for member in ("subagentRunId", "toolCallId") if member in interrupt)


def values(event: Json) -> Iterator[str]:
    if any(0xD800 <= ord(character) < 0xE000 for character in json.dumps(event, ensure_ascii=False)):
        yield "surrogates"
    for value in _walk(event):
        if isinstance(value, dict) and value.get("type") in MEDIA and "source" in value:
            yield "media_parts"
            yield from ("file_sources",) if value["source"]["type"] == "file" else ()
        elif isinstance(value, int) and abs(value) > LARGEST_EXACT:
            yield "numbers beyond 2^53"


def listed(messages: list[Json], how: str) -> Iterator[str]:
    """Features of messages that arrive whole, `how` they do."""
    for message in messages:
        yield f"{how} {message['role']} message"
        if "subagentRunId" in message:
            yield f"{how} subagent's message"
            yield "subagents"
        if isinstance(message.get("content"), list):
            yield "result_parts" if message["role"] == "tool" else "user_parts"


def _walk(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _walk(member)
