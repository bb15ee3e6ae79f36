"""Runs that pause for an answer.

Clients before 0.0.54 ignore the outcome of a run: they cannot show or answer an interrupt, and a cancelled run looks
successful.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event


@handles("RUN_FINISHED")
async def report_interrupts(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Report the loss of an outcome other than success; change nothing."""
    async for event in events:
        outcome = event.get_object("outcome")
        if outcome is not None and outcome.get("type") in ("interrupt", "cancelled"):
            context.lost("interrupts", "that the run waits for an answer, or was cancelled", "0.0.54")
        yield event
