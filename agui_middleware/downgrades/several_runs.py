"""Several runs in one stream.

Clients before 0.0.37 read one run per stream: they reject a second RUN_STARTED and any event after RUN_FINISHED. So all runs
of a stream are joined into one, which ends as the last run does.

A run that ends with a text, tool call or step still open is not joined: every release rejects its RUN_FINISHED, and if that
were dropped, the next run could close what is open, and nobody would learn of the fault.
"""

from collections.abc import AsyncIterator

from agui_middleware.downgrades.open_entities import BOUNDS, OpenEntities
from agui_middleware.downgrades.run_bounds import HeldEnd, may_be_dropped
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import all_but

_OTHERS = all_but({"RUN_FINISHED"} | BOUNDS)  # what is of interest only while a RUN_FINISHED is held back


@handles(EVERYTHING, asleep=_OTHERS)
async def join_several_runs(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Hold RUN_FINISHED back until the stream ends, or drop it together with the RUN_STARTED of the next run."""
    finished = HeldEnd(context)
    open = OpenEntities(context)
    events.skipped, events.let_go = _OTHERS, finished.let_go
    async for event in events:
        events.skipped = () if event.head.type == "RUN_FINISHED" else _OTHERS
        if finished and event.head.type == "RUN_STARTED" and may_be_dropped(event):
            finished.drop()
            continue
        for before in finished.let_go():
            yield before
        if event.head.type in BOUNDS:
            open.take(event)
            yield event
        elif event.head.type == "RUN_FINISHED" and not open and may_be_dropped(event):
            finished.hold(event)
        else:
            yield event
    for last in finished.let_go():
        yield last
