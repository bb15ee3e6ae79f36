"""The outermost run, which is the run of the AG-UI stream."""

import logging

from agui_middleware.agent_events.models import AgentEvent, RunOutcome
from agui_middleware.agent_events.run import Run
from agui_middleware.agent_events.run_emitter import AGUIEvent, EventBuffer, NewId, RunEmitter
from agui_middleware.agent_events.run_ends import FAILED, failure, success
from agui_middleware.agent_events.usage import UsageTotals
from agui_middleware.filters.rate_limited_log import RateLimitedLog

PROTOCOL_VERSION = "1.0"
"""The version of these events, whatever version the request names."""

process_log: RateLimitedLog = RateLimitedLog(logging.getLogger(__name__))


class Agent:
    """Turns each event of the loop into the AG-UI events that are due, from RUN_STARTED to the terminal event."""

    def __init__(self, thread_id: str, run_id: str, new_id: NewId) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._buffer = EventBuffer(new_id)
        self._emitter = RunEmitter(self._buffer)
        self._totals = UsageTotals()
        self._run = Run(self._emitter, self._totals)
        self._outcome: RunOutcome | None = None
        self._late = False

    def start(self, parent_run_id: str | None) -> list[AGUIEvent]:
        parent = {} if parent_run_id is None else {"parentRunId": parent_run_id}
        self._emitter.emit("RUN_STARTED", **self._ids, protocolVersion=PROTOCOL_VERSION, **parent)
        return self._buffer.drain()

    def feed(self, event: AgentEvent) -> list[AGUIEvent]:
        """Raises TypeError for anything but an AgentEvent. Events after the run's Done are dropped, with one warning."""
        if self._outcome is not None:
            self._drop(event)
            return []
        self._run.feed(event)
        self._outcome = self._run.outcome
        if self._outcome is not None:
            self._end(self._outcome)
        return self._buffer.drain()

    def fail(self) -> list[AGUIEvent]:
        """The loop raised. The exception goes to the log and not to the client: it may name secrets."""
        if self._outcome is None:
            self._run.close()
            self._emitter.emit("RUN_ERROR", **FAILED, **self._usage())
        elif self._outcome.status in ("finished", "cancelled"):
            # RUN_ERROR may follow RUN_FINISHED, which had the usage; after RUN_ERROR clients accept only a new run.
            self._emitter.emit("RUN_ERROR", **FAILED)
        return self._buffer.drain()

    def stop(self) -> None:
        """The loop has ended. Without a Done the outcome is unknown, so no terminal event is invented."""
        if self._outcome is None:
            message = "run %s: the loop stopped without Done, its stream has no terminal event"
            process_log.warning("no Done", message, self._ids["runId"])

    def _end(self, outcome: RunOutcome) -> None:
        if outcome.status == "finished":
            self._emitter.emit("RUN_FINISHED", **self._ids, **success(outcome), **self._usage())
        elif outcome.status == "cancelled":
            self._emitter.emit("RUN_FINISHED", **self._ids, outcome={"type": "cancelled"}, **self._usage())
        else:
            self._emitter.emit("RUN_ERROR", **failure(outcome), **self._usage())

    def _usage(self) -> dict[str, list[dict[str, str | int]]]:
        entries = self._totals.entries()
        return {"usage": entries} if entries else {}

    def _drop(self, event: AgentEvent) -> None:
        if not self._late:
            self._late = True
            message = "run %s: %s and what follows came after Done"
            process_log.warning("after Done", message, self._ids["runId"], type(event).__name__)
