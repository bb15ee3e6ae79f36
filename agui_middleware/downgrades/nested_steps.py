"""Steps inside a step, and steps that overlap.

Up to 0.0.30 a client keeps steps under a member that no event has, so that one step is like another, and rejects a second
one while the first is open.
"""

from collections.abc import AsyncIterator
from typing import Any

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event, as_id


@handles("STEP_STARTED", "STEP_FINISHED")
async def without_nested_steps(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop the steps that begin while another one is open."""
    open: Any = None
    dropped: Index[str | None, int] = Index(context.budget)  # how many by name; by None, those whose name is malformed
    async for event in events:
        name = event.head.stepName
        if event.head.type == "STEP_STARTED":
            if open is not None:
                context.lost("steps inside steps", "this release reads one step at a time", "0.0.34")
                dropped[as_id(name)] = dropped.get(as_id(name), 0) + 1
                continue
            open = name
        elif as_id(name) in dropped:
            dropped[as_id(name)] -= 1
            if not dropped[as_id(name)]:
                del dropped[as_id(name)]
            continue
        elif name == open:
            open = None
        yield event
