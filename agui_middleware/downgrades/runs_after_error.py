"""Runs that follow a failed run in the same stream.

Clients before 0.0.59 read nothing after RUN_ERROR. So the next run continues the failed one: what the failed run left open
is closed, and neither its RUN_ERROR nor the next RUN_STARTED is sent. Sending RUN_FINISHED in place of RUN_ERROR would
report a failure as a success; it is done only if the next RUN_STARTED has messages in its input echo.
"""

from collections.abc import AsyncIterator, Iterator

from agui_middleware.downgrades.open_entities import BOUNDS, OpenEntities
from agui_middleware.downgrades.run_bounds import HeldEnd, may_be_dropped
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_kind import RUN
from agui_middleware.protocol.event_types import all_but, types_about
from agui_middleware.protocol.messages import messages_of

# What is of interest only while a RUN_ERROR is held back.
_OTHERS = all_but(types_about(RUN) | BOUNDS)


@handles(EVERYTHING)
async def continue_runs_after_error(events: EventSource, context: Context) -> AsyncIterator[Event]:
    """Hold RUN_ERROR back until the stream ends, or drop it when the next run begins."""
    error = HeldEnd(context)
    run = _Run(context)
    events.skipped, events.let_go = _OTHERS, error.let_go
    async for event in events:
        type = event.head.type
        events.skipped = () if type == "RUN_ERROR" else _OTHERS
        if error and type == "RUN_STARTED" and may_be_dropped(event):
            error.drop()
            context.lost(
                "the error of a run that another one follows", "this release reads nothing behind it", "0.0.59"
            )
            goes_on = run.begun is not None and not messages_of(event)
            for closing in run.close(finish=not goes_on):
                yield closing
            if goes_on:
                continue
        for before in error.let_go():
            yield before
        if type == "RUN_ERROR" and may_be_dropped(event):
            error.hold(event)
        else:
            run.take(event)
            yield event
    for last in error.let_go():
        yield last


class _Run:
    """The current run, and what is open in it."""

    __slots__ = ("_context", "_open", "begun")

    def __init__(self, context: Context) -> None:
        self._context = context
        self.begun: Event | None = None  # its RUN_STARTED
        self._open = OpenEntities(context)

    def close(self, *, finish: bool) -> Iterator[Event]:
        """Yield the END events of what is open; with `finish`, RUN_FINISHED too."""
        yield from self._open.close()
        if finish and self.begun is not None:
            yield Event(type="RUN_FINISHED", threadId=self.begun.get("threadId"), runId=self.begun.get("runId"))

    def take(self, event: Event) -> None:
        """Track what the event opens and closes."""
        type = event.head.type
        if type not in ("RUN_STARTED", "RUN_FINISHED"):
            self._open.take(event)
            return
        if self.begun is not None:
            self._context.release(self.begun)
        self.begun = None
        if type == "RUN_STARTED":
            self.begun = event.without("input") if event.may_contain(b'"input"') else event
            self._context.hold(self.begun)
        self._open.clear()
