"""Thinking, and reasoning, for clients that know neither.

Up to 0.0.36 a client rejects THINKING_START, and wants it before any other of the THINKING_* events.
"""

from collections.abc import AsyncIterator
from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import EventType

_DROPPED: Final = frozenset(type for type in EventType if type.startswith(("THINKING_", "REASONING_")))


@handles(*_DROPPED)
async def without_thinking(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop THINKING_* and REASONING_*."""
    async for event in events:
        if event.head.type in _DROPPED:
            context.lost("reasoning", "a model's reasoning; from 0.0.37 on it is shown", "0.0.45")
        else:
            yield event
