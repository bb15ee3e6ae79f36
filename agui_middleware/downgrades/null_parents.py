"""`parentMessageId: null`, which means none. Before 0.0.58 a client rejects it while it decodes the event."""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event


@per_event("TOOL_CALL_START")
def without_null_parents(_: Context) -> Step:
    """Take it off TOOL_CALL_START."""
    return lambda event: event.without("parentMessageId") if event.head.parentMessageId is None else event
