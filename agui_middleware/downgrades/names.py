"""The name of a text message's speaker.

Before 0.0.48 a client ignores it in TEXT_MESSAGE_START. A snapshot that restates the message brings it.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("TEXT_MESSAGE_START")
async def report_names(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Report the loss of names; change nothing."""
    async for event in events:
        if "name" in event:
            context.lost("names", "who says a text message, unless a snapshot restates it", "0.0.48")
        yield event
