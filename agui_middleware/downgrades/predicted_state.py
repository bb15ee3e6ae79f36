"""State that a client predicts from a tool call's arguments, when a CUSTOM event named `PredictState` tells it to.

Releases up to 0.0.30 did so. No later one does: the state that they predict is not the agent's.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("CUSTOM")
async def without_predicted_state(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Drop the event. These releases show no CUSTOM event to anybody, so nothing else is lost."""
    async for event in events:
        if event.get("name") != "PredictState":
            yield event
