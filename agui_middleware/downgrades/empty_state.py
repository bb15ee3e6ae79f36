"""State snapshots of null, false, 0 or the empty string.

Clients before 1.0.0 ignore such a snapshot, and the application keeps its old state. An empty object is the closest value
that they accept. The snapshot itself is still sent, since clients apply later patches to it.
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
    """Send the state `{}` before a snapshot that the client ignores."""
    empty = False
    async for event in events:
        value = _small_snapshot(event)
        none = value is not Raw and not value and not isinstance(value, dict | list)
        if none and not empty:
            yield event.replace(snapshot={})
        empty = none or value == {}
        yield event


def _small_snapshot(event: Event) -> Any:
    """The snapshot if it is a small value, else `Raw`: a state may be large, and is not decoded."""
    value = event.members().get("snapshot", Raw)
    if isinstance(value, Raw):
        return event["snapshot"] if memoryview(value).nbytes <= _LARGEST else Raw
    return value
