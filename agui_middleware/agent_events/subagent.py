"""The life of one run inside a tool, as AG-UI's subagent events tell it."""

from typing import TYPE_CHECKING

from agui_middleware.agent_events.calls import Call
from agui_middleware.agent_events.models import AgentEvent, RunOutcome, ToolResult
from agui_middleware.agent_events.run_ends import UNFINISHED, failure, success

if TYPE_CHECKING:
    from agui_middleware.agent_events.run import Run


class Subagent:
    """Announced when it is made, ended once: by its own Done, by its call's result, or with the run that holds it.

    What arrives after its end, as when a result overtakes the last events, still goes out under its tag; AG-UI allows
    that, and does not allow it to be announced a second time.
    """

    def __init__(self, run: "Run", tool: str, call: Call | None, parent: str | None) -> None:
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
        run.voice.emit("SUBAGENT_STARTED", name=tool, **known)

    def feed(self, event: AgentEvent) -> None:
        self.run.feed(event)
        if self.run.outcome is not None:
            self._end(self.run.outcome)

    def answered(self, event: ToolResult) -> None:
        """Its call has its result."""
        if event.is_error:
            self.finish(RunOutcome(status="error", error=event.content))
        else:
            self.finish(RunOutcome(status="finished", text=event.content))

    def finish(self, outcome: RunOutcome) -> None:
        """It ended like this, by what others say of it."""
        self.run.close()
        self._end(outcome)

    def abandon(self) -> None:
        """The run that holds it is over. What is not known to have succeeded is not called a success."""
        self.run.close()
        if self.active:
            self.active = False
            self.run.voice.emit("SUBAGENT_ERROR", **UNFINISHED)

    def _end(self, outcome: RunOutcome) -> None:
        if not self.active:
            return
        self.active = False
        if outcome.status == "finished":
            self.run.voice.emit("SUBAGENT_FINISHED", **success(outcome))
        else:
            self.run.voice.emit("SUBAGENT_ERROR", **failure(outcome))
