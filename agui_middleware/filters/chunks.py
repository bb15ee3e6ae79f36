"""Chunks as START, CONTENT or ARGS, and END.

Before 0.0.59 a client has one lane for the chunks of a whole run, whoever sent them: those of parallel subagents end up in
one another's messages, silently, and a tool call that is continued after another one appears twice before 0.0.58. It reads
any number of open messages and calls from 0.0.37 on, if each says its id.
"""

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.chunk_lanes import CLOSES_SOME, ID_OF, Lane, Lanes, Match
from agui_middleware.protocol.event import UNSET, Event
from agui_middleware.protocol.event_kind import Action
from agui_middleware.protocol.event_types import EVENT_KINDS, type_of

_ENTITY = {type: EVENT_KINDS[type].about for type in ID_OF}
_START = {chunk: type_of(entity, Action.OPENS) for chunk, entity in _ENTITY.items()}
_CONTENT = {chunk: type_of(entity, Action.CONTINUES) for chunk, entity in _ENTITY.items()}
_END = {chunk: type_of(entity, Action.CLOSES) for chunk, entity in _ENTITY.items()}


@handles(*ID_OF, *CLOSES_SOME, asleep=CLOSES_SOME)
async def expand_chunks(events: EventSource, context: Context) -> AsyncGenerator[Event, None]:
    """Expand chunks as 1.0.0 does, each subagent in a lane of its own.

    What 1.0.0 rejects is still rejected: a chunk that contradicts what is open becomes a second START of that, and any
    other stays as it is.

        async def my_filter(events, context):
            async with aclosing(expand_chunks(events, context)) as expanded:
                async for event in expanded: ...

    For filters that look at texts, or that drop events: behind it every message and call has its START and its END, and
    every event of it its id. It is a filter itself, and may stand in a route's `filters`.
    """
    lanes = Lanes(context.budget)
    events.skipped = CLOSES_SOME
    async for event in events:
        if event.head.type not in ID_OF:
            for lane in lanes.close(event):
                yield _end(lane)
            yield event
        else:
            for piece in _expanded(lanes, event):
                yield piece
        events.skipped = () if lanes.open else CLOSES_SOME


def _expanded(lanes: Lanes, chunk: Event) -> Iterator[Event]:
    id = getattr(chunk.head, ID_OF[chunk.head.type])
    try:
        taken = lanes.take(chunk)
    except LookupError:
        yield _start(chunk, chunk.head.type, id) if isinstance(id, str) else chunk
        return
    if taken is None:
        yield chunk
    elif not taken.opened and taken.lane.contradicted_by(chunk):
        yield _start(chunk, taken.lane.type, _id(chunk, taken.lane))
    else:
        yield from _pieces(chunk, taken)


def _pieces(chunk: Event, taken: Match) -> Iterator[Event]:
    lane, type = taken.lane, taken.lane.type
    if taken.closed is not None:
        yield _end(taken.closed)
    if taken.opened:
        yield _start(chunk, type, lane.id)
    if "delta" in chunk or "rawEvent" in chunk or (not taken.opened and "metadata" in chunk):
        members: dict[str, Any] = {"type": _CONTENT[type], ID_OF[type]: _id(chunk, lane)}
        if "delta" not in chunk:
            members["delta"] = ""
        if "subagentRunId" not in chunk and lane.tag is not UNSET:
            members["subagentRunId"] = lane.repeated().tag
        dropped = [name for name in ("parentMessageId", "toolCallName", "role", "name") if name in chunk]
        yield chunk.replace(**members).without(*dropped)


def _id(chunk: Event, lane: Lane) -> str:
    return lane.id if ID_OF[lane.type] in chunk else lane.repeated().id


def _start(chunk: Event, type: str, id: str) -> Event:
    members: dict[str, Any] = {"type": _START[type], ID_OF[type]: id}
    if type == "TEXT_MESSAGE_CHUNK" and "role" not in chunk:
        members["role"] = "assistant"
    if type == "REASONING_MESSAGE_CHUNK":
        members["role"] = "reasoning"
    return chunk.replace(**members).without("delta", "rawEvent", "timestamp")


def _end(lane: Lane) -> Event:
    tag = {} if lane.tag is UNSET else {"subagentRunId": lane.tag}
    return Event(type=_END[lane.type], **{ID_OF[lane.type]: lane.id}, **tag)
