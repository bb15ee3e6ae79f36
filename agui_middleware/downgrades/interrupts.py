"""Runs that pause for an answer, for clients of the older dialect.

Before 0.0.54 a client ignores the outcome of a run, so that an interrupt could not be answered. The chats of that time know
CUSTOM events named `on_interrupt`, one for each interrupt, and answer by `forwardedProps.command.resume`, which `history/`
turns into `resume`. CopilotKit before 1.61.2 stops answering when it sees an outcome, so the outcome goes.

Agents that send both, as ag-ui-langgraph may, have announced an interrupt already. Such a CUSTOM names no id: it belongs to
the interrupt with the same tool call or the same value, and otherwise to the first that has none.
"""

from collections.abc import AsyncIterator
from typing import Any, Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.interrupt_dialects import (
    ON_INTERRUPT,
    OpenInterrupt,
    addressed,
    announcement,
    call_of,
    form_of,
    interrupts_of,
    opened,
)

_MAX_ANNOUNCED: Final = 1024  # in a run; of what an agent announces beyond that, nothing is remembered


@handles("RUN_STARTED", "CUSTOM", "RUN_FINISHED")
async def interrupts_as_custom(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Announce each interrupt of a run's outcome by a CUSTOM event, unless the agent has, and drop the outcome."""
    announced: list[Any] = []  # the identities of the CUSTOM events that the agent has sent in this run
    async for event in events:
        interrupts = None
        if event.head.type == "RUN_STARTED":
            announced = []
        elif event.head.type == "CUSTOM":
            if event.get("name") == ON_INTERRUPT and len(announced) < _MAX_ANNOUNCED:
                announced.append(_identities(event.get("value")))
        elif (interrupts := interrupts_of(event)) is not None:
            for missing in _announcements(interrupts, announced):
                yield missing
        elif _is_cancelled(event):
            context.lost("interrupts", "that the run was cancelled", "0.0.54")
        yield event if interrupts is None else event.without("outcome")


def _announcements(interrupts: list[JsonObject], announced: list[set[str]]) -> list[Event]:
    """Those that the agent has not sent."""
    all_open = [opened(interrupt) for interrupt in interrupts]
    unclaimed = list(announced)
    missing = [pair for pair in zip(interrupts, all_open, strict=True) if not _claim(pair[1], unclaimed)]
    return [announcement(interrupt, all_open) for interrupt, _ in missing[len(unclaimed) :]]


def _claim(interrupt: OpenInterrupt, unclaimed: list[set[str]]) -> bool:
    """Take the announcement of an interrupt out of those that no other one has claimed."""
    own = {f"id {interrupt.id}", f"form {interrupt.form}", f"call {interrupt.call}"}
    for place, identities in enumerate(unclaimed):
        if own & identities:
            del unclaimed[place]
            return True
    return False


def _identities(value: Any) -> set[str]:
    address, call, form = addressed(value), call_of(value), form_of(value)
    found = {f"form {form}"} if form else set()
    if call is not None:
        found.add(f"call {call}")
    if address is not None:
        found.add(f"id {address[0].id}")
    return found


def _is_cancelled(event: Event) -> bool:
    outcome = event.get_object("outcome")
    return outcome is not None and outcome.get("type") == "cancelled"
