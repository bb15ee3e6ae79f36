"""The interrupts of a thread that wait for an answer, as they are kept between two requests."""

import json
from typing import Any

from agui_middleware.protocol.event import Event
from agui_middleware.protocol.interrupt_dialects import OpenInterrupt, interrupts_of, opened


class OpenInterrupts:
    """Follows the runs of one response. `open`: those that wait when it ends; `None`: no run of it tells.

    A run that finishes without asking has had its answers. One that fails leaves them open: its answer may be posted again.
    """

    def __init__(self) -> None:
        self.open: list[OpenInterrupt] | None = None

    def run_ended(self, event: Event) -> None:
        """Take an event that ends a run, with its interrupts in the outcome."""
        if event.head.type == "RUN_FINISHED":
            self.open = [opened(interrupt) for interrupt in interrupts_of(event) or ()]


def within(open: list[OpenInterrupt], limit: int) -> list[dict[str, Any]]:
    """Return interrupts for the store, at most `limit` bytes of JSON: values are dropped first, then the oldest."""
    stored = [_stored(each) for each in open]
    if _size(stored) > limit:
        stored = [_stored(each._replace(value=b"")) for each in open]
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
