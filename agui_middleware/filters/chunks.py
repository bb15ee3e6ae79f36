"""Chunks as START, CONTENT or ARGS, and END.

Before 0.0.59 a client has one lane for the chunks of a whole run, whoever sent them: those of parallel subagents end up in
one another's messages, silently, and a tool call that is continued after another one appears twice before 0.0.58. It reads
any number of open messages and calls from 0.0.37 on, if each says its id.
"""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.chunk_lanes import ID_OF, NEUTRAL, Lane, Lanes, Match
from agui_middleware.protocol.event import UNSET, Event
from agui_middleware.protocol.event_types import EventType

_START = {
    "TEXT_MESSAGE_CHUNK": "TEXT_MESSAGE_START",
    "TOOL_CALL_CHUNK": "TOOL_CALL_START",
    "REASONING_MESSAGE_CHUNK": "REASONING_MESSAGE_START",
}
_CONTENT = {
    "TEXT_MESSAGE_CHUNK": "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL_CHUNK": "TOOL_CALL_ARGS",
    "REASONING_MESSAGE_CHUNK": "REASONING_MESSAGE_CONTENT",
}
_END = {
    "TEXT_MESSAGE_CHUNK": "TEXT_MESSAGE_END",
    "TOOL_CALL_CHUNK": "TOOL_CALL_END",
    "REASONING_MESSAGE_CHUNK": "REASONING_MESSAGE_END",
}


_CLOSING = frozenset(EventType) - frozenset(ID_OF)  # what is of interest only while a lane is open


@handles(EVERYTHING, except_=NEUTRAL - frozenset(ID_OF))
async def expand_chunks(events: EventSource, _: Context) -> AsyncGenerator[Event, None]:
    """Expand chunks as 1.0.0 does, each subagent in a lane of its own. What 1.0.0 rejects stays as it is."""
    lanes = Lanes()
    events.skipped = _CLOSING
    async for event in events:
        if event.head.type not in ID_OF:
            for lane in lanes.close(event):
                yield _end(lane)
            yield event
        elif (taken := _take(lanes, event)) is None:
            yield event
        else:
            for piece in _pieces(event, taken):
                yield piece
        events.skipped = () if lanes.open else _CLOSING


def _take(lanes: Lanes, chunk: Event) -> Match | None:
    try:
        taken = lanes.take(chunk)
    except LookupError:
        return None
    if taken is not None and not taken.opened and taken.lane.contradicted_by(chunk):
        return None
    return taken


def _pieces(chunk: Event, taken: Match) -> Iterator[Event]:
    lane, type = taken.lane, taken.lane.type
    if taken.closed is not None:
        yield _end(taken.closed)
    if taken.opened:
        yield _start(chunk, lane)
    if "delta" in chunk or "rawEvent" in chunk or (not taken.opened and "metadata" in chunk):
        members: dict[str, Any] = {"type": _CONTENT[type], ID_OF[type]: lane.id}
        if "delta" not in chunk:
            members["delta"] = ""
        if "subagentRunId" not in chunk and lane.tag is not UNSET:
            members["subagentRunId"] = lane.tag
        dropped = [name for name in ("parentMessageId", "toolCallName", "role", "name") if name in chunk]
        yield chunk.replace(**members).without(*dropped)


def _start(chunk: Event, lane: Lane) -> Event:
    members = {"type": _START[lane.type], ID_OF[lane.type]: lane.id, **lane.opener}
    if lane.type == "TEXT_MESSAGE_CHUNK":
        members.setdefault("role", "assistant")
    if lane.type == "REASONING_MESSAGE_CHUNK":
        members["role"] = "reasoning"
    return chunk.replace(**members).without("delta", "rawEvent", "timestamp")


def _end(lane: Lane) -> Event:
    tag = {} if lane.tag is UNSET else {"subagentRunId": lane.tag}
    return Event(type=_END[lane.type], **{ID_OF[lane.type]: lane.id}, **tag)
