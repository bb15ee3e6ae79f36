"""Runs that change neither messages nor state.

Clients up to 0.0.30 reject them with "no elements in sequence". A state patch without operations counts as a change, and has
no effect.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event

_CHANGES = frozenset({"TEXT_MESSAGE_START", "TOOL_CALL_START", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"})


@handles("RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "STATE_DELTA", *_CHANGES)
async def touch_unchanged_runs(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Send an empty STATE_DELTA before the end of a run that changed nothing.

    The failure of a run that never began gets an empty RUN_STARTED, since nothing else may come first. A RUN_FINISHED
    without RUN_STARTED gets none: no release accepts it.
    """
    changed = started = False
    async for event in events:
        type = event.head.type
        if type in ("RUN_FINISHED", "RUN_ERROR") and not changed:
            if not started and type == "RUN_ERROR":
                yield Event(type="RUN_STARTED", threadId="", runId="")
            yield Event(type="STATE_DELTA", delta=[])
            changed = True
        changed = changed or type in _CHANGES or (type == "STATE_DELTA" and event.get("delta") == [])
        started = started or type == "RUN_STARTED"
        yield event
    if started and not changed:
        yield Event(type="STATE_DELTA", delta=[])
