"""Empty text deltas, which clients before 0.0.50 reject while they decode the event."""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event

_CONTENTS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_CONTENT")


@per_event(*_CONTENTS, repeats=_CONTENTS)
def without_empty_deltas(_: Context) -> Step:
    """Drop TEXT_MESSAGE_CONTENT with an empty `delta`."""

    def show(event: Event) -> Event | None:
        # To look for the two quotes is a tenth of the cost of decoding a member of every token.
        return None if event.raw.find(b'""') >= 0 and event.get("delta") == "" else event

    return show
