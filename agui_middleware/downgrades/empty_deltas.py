"""Content that adds nothing. Before 0.0.50 a client rejects an empty `delta` of a text while it decodes the event."""

from agui_middleware.filters.contract import Context, Each, each


@each("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT")
def without_empty_deltas(_: Context) -> Each:
    """Drop it."""
    return lambda event: None if event.get("delta") == "" else event
