"""Nested and overlapping steps.

Clients up to 0.0.30 look up steps by a member that no event has, so that all steps look the same, and reject a second step
while one is open.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event, as_id


@handles("STEP_STARTED", "STEP_FINISHED")
async def without_nested_steps(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop steps that begin while another one is open.

    Steps that begin twice or have no name are kept: every release rejects them.
    """
    open: str | None = None
    dropped: Index[str, Any] = Index(context.budget)
    async for event in events:
        name, starts = as_id(event.head.stepName), event.head.type == "STEP_STARTED"
        if name is None or (starts and (name == open or name in dropped)):
            yield event
        elif starts and open is not None:
            context.lost("steps inside steps", "this release reads one step at a time", "0.0.34")
            dropped.add(name)
        elif not starts and name in dropped:
            del dropped[name]
        else:
            open = name if starts else None if name == open else open
            yield event
