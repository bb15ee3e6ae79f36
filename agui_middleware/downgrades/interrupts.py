"""Runs that pause for an answer, for clients of the older dialect.

Before 0.0.54 a client ignores the outcome of a run, so that an interrupt could not be answered. The chats of that time know
CUSTOM events named `on_interrupt`, one for each interrupt, and answer by `forwardedProps.command.resume`, which `history/`
turns into `resume`. CopilotKit before 1.61.2 stops answering when it sees an outcome, so the outcome goes.

Agents that send both, as ag-ui-langgraph may, have announced an interrupt already. Such a CUSTOM names no id: it belongs to
the interrupt with the same tool call or the same value, and otherwise to the first that has none.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import Budget, Index
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


@handles("RUN_STARTED", "CUSTOM", "RUN_FINISHED")
async def interrupts_as_custom(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Announce each interrupt of a run's outcome by a CUSTOM event, unless the agent has, and drop the outcome."""
    announced = _Announced(context.budget)
    async for event in events:
        interrupts = None
        if event.head.type == "RUN_STARTED":
            announced.forget()
        elif event.head.type == "CUSTOM":
            if event.get("name") == ON_INTERRUPT:
                announced.add(_identities(event.get("value")))
        elif (interrupts := interrupts_of(event)) is not None:
            for missing in _announcements(interrupts, announced):
                yield missing
        elif _is_cancelled(event):
            context.lost("interrupts", "that the run was cancelled", "0.0.54")
        yield event if interrupts is None else event.without("outcome")


class _Announced:
    """The CUSTOM events that the agent has sent in a run, by what they tell of their interrupts."""

    def __init__(self, budget: Budget) -> None:
        self._places: Index[str, list[int]] = Index(budget)
        self._next: dict[str, int] = {}  # by identity, the first of its places that may be unclaimed
        self._count = 0
        self._claimed: set[int] = set()

    def forget(self) -> None:
        """Forget them: another run has begun."""
        self._places.clear()
        self._next.clear()
        self._count, self._claimed = 0, set()

    def add(self, identities: set[str]) -> None:
        """Add an event, by its identities."""
        for identity in identities:
            self._places.setdefault(identity, []).append(self._count)
        self._count += 1

    @property
    def unclaimed(self) -> int:
        """How many no interrupt has claimed."""
        return self._count - len(self._claimed)

    def claim(self, interrupt: OpenInterrupt) -> bool:
        """Give an interrupt the first of its events that is left; returns whether there is one."""
        own = (f"id {interrupt.id}", f"form {interrupt.form}", f"call {interrupt.call}")
        left = [place for identity in own if (place := self._left(identity)) is not None]
        if left:
            self._claimed.add(min(left))
        return bool(left)

    def _left(self, identity: str) -> int | None:
        places, at = self._places.get(identity), self._next.get(identity, 0)
        if places is None:
            return None
        while at < len(places) and places[at] in self._claimed:
            at += 1
        self._next[identity] = at
        return places[at] if at < len(places) else None


def _announcements(interrupts: list[JsonObject], announced: _Announced) -> list[Event]:
    """Those that the agent has not sent."""
    all_open = [opened(interrupt) for interrupt in interrupts]
    missing = [pair for pair in zip(interrupts, all_open, strict=True) if not announced.claim(pair[1])]
    return [announcement(interrupt, all_open) for interrupt, _ in missing[announced.unclaimed :]]


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
