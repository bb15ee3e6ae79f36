"""The input echo of RUN_STARTED.

Java reads it into its own classes, which know neither content parts nor the newer roles, and ends the run over them.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import Event


@per_event(INPUT_ECHO)
def without_input_echoes(context: Context) -> Step:
    """Remove `input`."""

    def show(event: Event) -> Event:
        if "input" in event:
            context.lost("input echo", "messages that only an input echo brings")
        return event.without("input")

    return show
