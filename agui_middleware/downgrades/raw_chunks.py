"""A chunk that says nothing but which event of the agent it stems from.

1.0.0 makes an empty piece of content of it, which gives a message that a tool call made its content; 0.0.59 does not.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK")
def fill_raw_chunks(_: Context) -> Step:
    """Give such a chunk the empty `delta` that 1.0.0 reads in it."""

    def fill(event: Event) -> Event:
        return event.replace(delta="") if "rawEvent" in event and "delta" not in event else event

    return fill
