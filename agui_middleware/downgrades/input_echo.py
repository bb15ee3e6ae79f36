"""The echo of the run's input in RUN_STARTED.

Up to 0.0.40 a client does not know it, and a message that stands nowhere else does not reach its conversation. It usually
restates what the client has posted. A snapshot in its place would delete what the agent's input leaves out, and a text
message would double what the client has: neither is worth it.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.messages import messages_of


@per_event("RUN_STARTED")
def report_input_echo(context: Context) -> Step:
    """Report the loss of messages that an input echo may bring; change nothing."""

    def report(event: Event) -> Event:
        if messages_of(event):
            context.lost("input echo", "messages that only the input in RUN_STARTED brings", "0.0.41")
        return event

    return report
