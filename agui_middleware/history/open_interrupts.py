"""The interrupts of a thread that wait for an answer, as they are kept between two requests."""

import json
from typing import Any, Literal

from agui_middleware.history.announced import Announced
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.interrupt_dialects import OpenInterrupt, interrupts_of, opened


class OpenInterrupts:
    """Follows the runs of one response.

    `dialect`: the one that the plan puts interrupts into. With `outcome` the ids are those that the client is given, else
    the agent's. A run that finishes without asking has had its answers. One that fails leaves them open: its answer may be
    posted again.
    """

    def __init__(self, dialect: Literal["custom", "outcome"] | None) -> None:
        self._made_here = dialect == "outcome"
        self._open: list[OpenInterrupt] | None = None
        self._announced = Announced()

    @property
    def open(self) -> list[OpenInterrupt] | None:
        """Those that wait when the response ends; `None`: no run of it tells.

        Where filters have changed what the agent announced, they have the agent's value, since the agent gets it back.
        """
        if self._open is None:
            return None
        if not self._made_here:
            return [*self._open, *self._announced.changed()]
        return self._announced.with_values(self._open)

    def agent_sent(self, event: Event) -> None:
        """Take a CUSTOM event, or one that ends a run, before the filters."""
        if event.head.type == "CUSTOM":
            self._announced.agent_sent(event)
        elif not self._made_here:
            self._run_ended(event)

    def client_got(self, event: Event) -> None:
        """Take a CUSTOM event, or one that ends a run, behind the filters."""
        if event.head.type == "CUSTOM":
            self._announced.client_got(event)
        elif self._made_here:
            self._run_ended(event)

    def _run_ended(self, event: Event) -> None:
        if event.head.type == "RUN_FINISHED":
            self._open = [opened(interrupt) for interrupt in interrupts_of(event) or ()]
            if self._made_here:
                self._announced.client_got_all(self._open)


def within(open: list[OpenInterrupt], limit: int) -> list[dict[str, Any]]:
    """Return interrupts for the store, at most `limit` bytes of JSON: values are dropped first, then the oldest."""
    stored = [_stored(each) for each in open]
    if _size(stored) > limit:
        stored = [_stored(each._replace(value=b"")) for each in open if not each.is_announced_only]
    sizes = [_size(each) + 1 for each in stored]
    first = 0
    total = sum(sizes)
    while total > limit:
        total -= sizes[first]
        first += 1
    return stored[first:]


def interrupts_in(value: Any) -> list[OpenInterrupt]:
    """Read what `within` returned; anything else is ignored."""
    return [read for each in value if (read := _read(each)) is not None] if isinstance(value, list) else []


def _stored(each: OpenInterrupt) -> dict[str, Any]:
    members = {"id": each.id, "expires_at": each.expires_at, "form": each.form, "call": each.call}
    members["value"] = each.value.decode(errors="replace")  # the bytes of an object are as the agent has sent them
    return {name: text for name, text in members.items() if text or name == "id"}


def _read(value: Any) -> OpenInterrupt | None:
    if not isinstance(value, dict) or not all(isinstance(part, str) for part in value.values()) or "id" not in value:
        return None
    read = value.get
    return OpenInterrupt(value["id"], read("expires_at"), read("form", ""), read("call"), read("value", "").encode())


def _size(value: Any) -> int:
    return len(json.dumps(value))  # ASCII: an id may hold half of a surrogate pair, which has no UTF-8
