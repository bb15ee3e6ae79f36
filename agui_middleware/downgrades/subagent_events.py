"""Subagents for clients that have none.

Before 0.0.59 a client rejects SUBAGENT_STARTED, SUBAGENT_FINISHED and SUBAGENT_ERROR while it decodes them, and the run
with them. The route's visibility takes them out (`agui_middleware.filters.subagents`); this says so.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR")
def report_subagent_events(context: Context) -> Step:
    """Report the loss of what a subagent did as a subagent's; change nothing."""

    def report(event: Event) -> Event:
        context.lost("subagents", "which subagent did what, and its steps", "0.0.59")
        return event

    return report
