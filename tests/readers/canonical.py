"""What the agent would get from @ag-ui/client 1.0.0 in place of an SDK."""

import json
from typing import Any

from agui_middleware import Event
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.posted import Posted
from tests.strategies import Json


def held_by_1_0_0(posted: list[Json], events: list[Json]) -> list[Json]:
    """The messages of such a client that has posted some, and has read a stream since."""
    body = Posted.read(json.dumps({"messages": posted}).encode())
    assert body is not None
    conversation = Conversation(body.messages)
    for event in events:
        conversation.take(Event(**event))
    messages = [json.loads(bytes(raw)) for _, raw in conversation.messages()]
    return [message for message in messages if message["role"] != "activity"]


def said(messages: list[Json]) -> list[Json]:
    """Messages without what is empty, and without what an SDK writes into them for itself."""
    return [_said(message) for message in messages]


def _said(message: Json) -> Json:
    kept: dict[str, Any] = {name: value for name, value in message.items() if name not in ("parts", "createdAt")}
    own = kept.pop("metadata", None) or {}
    metadata = {name: value for name, value in own.items() if name != "tanstack"}
    return {name: value for name, value in (kept | {"metadata": metadata}).items() if value}


def with_other_ids(events: list[Json], suffix: str) -> list[Json]:
    """The same run with other ids, as a later run of the thread has them; what was there before keeps its own."""
    return [_renamed(event, suffix) for event in events]


def _renamed(event: Json, suffix: str) -> Json:
    names = ("messageId", "parentMessageId", "toolCallId", "entityId", "runId", "parentRunId", "subagentRunId")
    return event | {name: f"{event[name]}{suffix}" for name in names if isinstance(event.get(name), str)}
