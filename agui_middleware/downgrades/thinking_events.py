"""Thinking, and reasoning, for clients that know neither.

Up to 0.0.36 a client rejects THINKING_START, and wants it before any other of the THINKING_* events.
"""

from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_kind import REASONING, REASONING_SPAN, THINKING, THINKING_SPAN
from agui_middleware.protocol.event_types import types_about

_DROPPED: Final = types_about(REASONING, REASONING_SPAN, THINKING, THINKING_SPAN) - ID_OF.keys()


@per_event(*_DROPPED, repeats=_DROPPED)
def without_thinking_events(context: Context) -> Step:
    """Drop THINKING_* and REASONING_*."""

    def drop(_: Event) -> None:
        context.lost("reasoning", "a model's reasoning; from 0.0.37 on it is shown", "0.0.45")

    return drop
