"""The life of one run inside a tool call, as AG-UI's subagent events."""

from typing import Protocol

from agui_middleware.agent_events.calls import Call, Calls
from agui_middleware.agent_events.models import AgentEvent, RunOutcome, ToolResult
from agui_middleware.agent_events.run_emitter import RunEmitter
from agui_middleware.agent_events.run_ends import UNFINISHED, failure, success
from agui_middleware.agent_events.turns import Turns


class InnerRun(Protocol):
    """What nesting needs of a run. A run contains its nested runs, so this cannot be the class itself: it imports us."""

    emitter: RunEmitter
    turns: Turns
    calls: Calls
    outcome: RunOutcome | None

    def feed(self, event: AgentEvent) -> None: ...

    def close(self) -> None: ...


class Subagent:
    """Emits SUBAGENT_STARTED when created, and one end: at its Done, at its call's result, or with the containing run.

    What arrives after that end, as when a result overtakes the last events, still goes out under its tag: AG-UI allows
    that, and does not allow a second SUBAGENT_STARTED.
    """

    def __init__(self, run: InnerRun, tool: str, call: Call | None, parent: str | None) -> None:
        self.run = run
        self.tool = tool
        self.call = call
        self.active: bool = True
        links = {
            "parentSubagentRunId": parent,
            "parentToolCallId": call and call.id,
            "parentMessageId": call and call.message,
        }
        known = {member: id for member, id in links.items() if id is not None}
        run.emitter.emit("SUBAGENT_STARTED", name=tool, **known)

    def feed(self, event: AgentEvent) -> None:
        self.run.feed(event)
        if self.run.outcome is not None:
            self._end(self.run.outcome)

    def end_with_result(self, event: ToolResult) -> None:
        """End as the result of its call says."""
        if event.is_error:
            self.end(RunOutcome(status="error", error=event.content))
        else:
            self.end(RunOutcome(status="finished", text=event.content))

    def end(self, outcome: RunOutcome) -> None:
        """End without its own Done."""
        self.run.close()
        self._end(outcome)

    def abandon(self) -> None:
        """The containing run is over. Without a known success this ends as an error."""
        self.run.close()
        if self.active:
            self.active = False
            self.run.emitter.emit("SUBAGENT_ERROR", **UNFINISHED)

    def _end(self, outcome: RunOutcome) -> None:
        if not self.active:
            return
        self.active = False
        if outcome.status == "finished":
            self.run.emitter.emit("SUBAGENT_FINISHED", **success(outcome))
        else:
            self.run.emitter.emit("SUBAGENT_ERROR", **failure(outcome))
