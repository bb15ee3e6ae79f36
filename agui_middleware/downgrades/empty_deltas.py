"""Content that adds nothing. Before 0.0.50 a client rejects an empty `delta` of a text while it decodes the event."""

from collections.abc import AsyncIterator

from agui_middleware.event import Event
from agui_middleware.filters.contract import Context, touches


@touches("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT")
async def without_empty_deltas(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Drop it."""
    async for event in events:
        if event.get("delta") != "":
            yield event
