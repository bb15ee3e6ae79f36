"""Runs that pause for an answer.

Clients before 0.0.54 ignore the outcome of a run: they cannot show or answer an interrupt, and a cancelled run looks
successful.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("RUN_FINISHED")
def report_interrupts(context: Context) -> Step:
    """Report the loss of an outcome other than success; change nothing."""

    def report(event: Event) -> Event:
        outcome = event.get_object("outcome")
        if outcome is not None and outcome.get("type") in ("interrupt", "cancelled"):
            context.lost("interrupts", "that the run waits for an answer, or was cancelled", "0.0.54")
        return event

    return report
