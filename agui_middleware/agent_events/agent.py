"""The run that is inside no tool: what AG-UI calls the run."""

import logging

from agui_middleware.agent_events.models import AgentEvent, RunOutcome
from agui_middleware.agent_events.run import Run
from agui_middleware.agent_events.run_emitter import AGUIEvent, NewId, Outbox, Voice
from agui_middleware.agent_events.run_ends import FAILED, failure, success
from agui_middleware.agent_events.usage import Ledger

PROTOCOL_VERSION = "1.0"
"""What this producer speaks, whatever the request says it speaks itself."""

logger: logging.Logger = logging.getLogger(__name__)


class Agent:
    """Turns each event of the loop into the AG-UI events that are due, from RUN_STARTED to the terminal event."""

    def __init__(self, thread_id: str, run_id: str, new_id: NewId) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._outbox = Outbox(new_id)
        self._voice = Voice(self._outbox)
        self._ledger = Ledger()
        self._run = Run(self._voice, self._ledger)
        self._outcome: RunOutcome | None = None
        self._late = False

    def start(self, parent_run_id: str | None) -> list[AGUIEvent]:
        parent = {} if parent_run_id is None else {"parentRunId": parent_run_id}
        self._voice.emit("RUN_STARTED", **self._ids, protocolVersion=PROTOCOL_VERSION, **parent)
        return self._outbox.drain()

    def feed(self, event: AgentEvent) -> list[AGUIEvent]:
        """Raises TypeError for what is not an AgentEvent. What follows the run's Done is dropped, with one warning."""
        if self._outcome is not None:
            self._drop(event)
            return []
        self._run.feed(event)
        self._outcome = self._run.outcome
        if self._outcome is not None:
            self._end(self._outcome)
        return self._outbox.drain()

    def fail(self) -> list[AGUIEvent]:
        """The loop raised. Its exception is for the log: it may name what no client should read."""
        if self._outcome is None:
            self._run.close()
            self._voice.emit("RUN_ERROR", **FAILED, **self._usage())
        elif self._outcome.status in ("finished", "cancelled"):
            # Legal behind RUN_FINISHED, which has told the usage; behind RUN_ERROR clients take nothing but a new run.
            self._voice.emit("RUN_ERROR", **FAILED)
        return self._outbox.drain()

    def stop(self) -> None:
        """The loop has no more to say. Without a Done that is a stream cut short, and nobody knows how it ended."""
        if self._outcome is None:
            logger.warning(
                "run %s: the loop stopped without Done, its stream has no terminal event", self._ids["runId"]
            )

    def _end(self, outcome: RunOutcome) -> None:
        if outcome.status == "finished":
            self._voice.emit("RUN_FINISHED", **self._ids, **success(outcome), **self._usage())
        elif outcome.status == "cancelled":
            self._voice.emit("RUN_FINISHED", **self._ids, outcome={"type": "cancelled"}, **self._usage())
        else:
            self._voice.emit("RUN_ERROR", **failure(outcome), **self._usage())

    def _usage(self) -> dict[str, list[dict[str, str | int]]]:
        entries = self._ledger.entries()
        return {"usage": entries} if entries else {}

    def _drop(self, event: AgentEvent) -> None:
        if not self._late:
            self._late = True
            logger.warning("run %s: %s and what follows came after Done", self._ids["runId"], type(event).__name__)
