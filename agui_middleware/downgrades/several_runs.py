"""Several runs in one stream.

Before 0.0.37 a client reads one run a stream: it rejects a second RUN_STARTED, and whatever follows RUN_FINISHED. So all
runs of a stream become one, which ends as the last one does.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import all_but

_OTHERS = all_but({"RUN_FINISHED"})  # what is of interest only while a RUN_FINISHED is held back


@handles(EVERYTHING, asleep=_OTHERS)
async def join_several_runs(events: EventSource, _: Context) -> AsyncIterator[Event]:
    """Hold RUN_FINISHED back until the next run begins, when both events go, or the stream ends."""
    finished: Event | None = None
    events.skipped = _OTHERS
    async for event in events:
        events.skipped = () if event.head.type == "RUN_FINISHED" else _OTHERS
        if finished is not None:
            before, finished = finished, None
            if event.head.type == "RUN_STARTED":
                continue
            yield before
        if event.head.type == "RUN_FINISHED":
            finished = event
        else:
            yield event
    if finished is not None:
        yield finished
