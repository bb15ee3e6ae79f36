"""A state of null, false, 0 or the empty string.

Before 1.0.0 a client takes such a snapshot for none, and the application keeps the state it had. An empty object is the
nearest thing that it takes. The snapshot itself follows: the client applies the patches behind it to what it says.
"""

from collections.abc import AsyncIterator
from typing import Any

from msgspec import Raw

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event

_LARGEST = 16  # bytes of a snapshot that is read; no number that somebody writes for zero is longer


@handles("STATE_SNAPSHOT", "STATE_DELTA")
async def with_empty_state(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Send the state `{}` before a snapshot that the client takes for none."""
    empty = False
    async for event in events:
        value = _small_snapshot(event)
        none = value is not Raw and not value and not isinstance(value, dict | list)
        if none and not empty:
            yield event.replace(snapshot={})
        empty = none or value == {}
        yield event


def _small_snapshot(event: Event) -> Any:
    """The snapshot where it is a small one, `Raw` in place of all else: a state may be large, and is not looked at."""
    value = event.members().get("snapshot", Raw)
    if isinstance(value, Raw):
        return event["snapshot"] if memoryview(value).nbytes <= _LARGEST else Raw
    return value
