"""`parentMessageId: null`, which means none. Before 0.0.58 a client rejects it while it decodes the event."""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("TOOL_CALL_START")
async def without_null_parents(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Take it off TOOL_CALL_START."""
    async for event in events:
        yield event.without("parentMessageId") if event.head.parentMessageId is None else event
