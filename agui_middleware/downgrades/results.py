"""Tool results as they come: TOOL_CALL_RESULT.

0.0.27 and 0.0.28 reject it. 0.0.30 takes it, but tells the application nothing until another event changes a message. Up to
here a result shows where a snapshot restates it.
"""

from collections.abc import AsyncIterator
from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.releases import ClientVersion

_FIRST_TO_READ: Final = ClientVersion(0, 0, 30)
_ENDS: Final = frozenset({"RUN_FINISHED", "RUN_ERROR"})
_TELLING: Final = (
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "MESSAGES_SNAPSHOT",
)


@handles("TOOL_CALL_RESULT", *_TELLING, *_ENDS)
async def without_results(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Drop results for a client that rejects them; report those that the application does not get."""
    reads = context.client is None or context.client >= _FIRST_TO_READ
    untold = False
    events.skipped = TOKENS
    async for event in events:
        result = event.head.type == "TOOL_CALL_RESULT"
        untold = result or (untold and event.head.type in _ENDS)
        events.skipped = () if untold else TOKENS
        if untold and not (reads and result):
            context.lost("tool results", "what a tool answered, unless a snapshot restates it", "0.0.34")
        if reads or not result:
            yield event
