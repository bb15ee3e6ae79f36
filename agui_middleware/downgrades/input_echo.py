"""The echo of the run's input in RUN_STARTED.

Clients up to 0.0.40 ignore it, so a message that only the echo has does not reach their conversation. Usually the echo
restates what the client has posted. A snapshot in its place would delete messages that the echo leaves out, and text
messages would duplicate those that the client has.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.messages import messages_of


@per_event(INPUT_ECHO)
def report_input_echo(context: Context) -> Step:
    """Report the loss of messages that an input echo may bring; change nothing."""

    def report(event: Event) -> Event:
        if messages_of(event):
            context.lost("input echo", "messages that only the input in RUN_STARTED brings", "0.0.41")
        return event

    return report
