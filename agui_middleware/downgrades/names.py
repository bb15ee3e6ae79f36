"""The name of a text message's speaker.

Before 0.0.48 a client ignores it in TEXT_MESSAGE_START. A snapshot that restates the message brings it.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("TEXT_MESSAGE_START")
def report_names(context: Context) -> Step:
    """Report the loss of names; change nothing."""

    def report(event: Event) -> Event:
        if "name" in event:
            context.lost("names", "who says a text message, unless a snapshot restates it", "0.0.48")
        return event

    return report
