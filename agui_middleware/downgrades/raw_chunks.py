"""A chunk that says nothing but which event of the agent it stems from.

1.0.0 makes an empty piece of content of it, which gives a message that a tool call made its content; 0.0.59 does not.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK")
async def fill_raw_chunks(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Give such a chunk the empty `delta` that 1.0.0 reads in it."""
    async for event in events:
        yield event.replace(delta="") if "rawEvent" in event and "delta" not in event else event
