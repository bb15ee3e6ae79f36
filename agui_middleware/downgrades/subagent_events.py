"""Subagents for clients that have none.

Before 0.0.59 a client rejects SUBAGENT_STARTED, SUBAGENT_FINISHED and SUBAGENT_ERROR while it decodes them, and the run
with them. The route's visibility takes them out (`agui_middleware.filters.subagents`); this says so.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR")
async def report_subagent_events(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Report the loss of what a subagent did as a subagent's; change nothing."""
    async for event in events:
        context.lost("subagents", "which subagent did what, and its steps", "0.0.59")
        yield event
