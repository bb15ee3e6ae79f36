"""Steps inside a step, and steps that overlap.

Up to 0.0.30 a client keeps steps under a member that no event has, so that one step is like another, and rejects a second
one while the first is open.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, as_id


@handles("STEP_STARTED", "STEP_FINISHED")
async def without_nested_steps(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop the steps that begin while another one is open.

    A step that begins twice, or has no name, is what every release rejects, and stays.
    """
    open: str | None = None
    dropped: set[str] = set()
    async for event in events:
        name, starts = as_id(event.head.stepName), event.head.type == "STEP_STARTED"
        if name is None or (starts and (name == open or name in dropped)):
            yield event
        elif starts and open is not None:
            context.lost("steps inside steps", "this release reads one step at a time", "0.0.34")
            dropped.add(name)
        elif not starts and name in dropped:
            dropped.remove(name)
        else:
            open = name if starts else None if name == open else open
            yield event
