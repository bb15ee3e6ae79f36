"""One agent run, the agent's own or one inside a tool, as AG-UI events."""

from typing import Final

from agui_middleware.agent_events.calls import Calls
from agui_middleware.agent_events.models import (
    AgentEvent,
    AssistantText,
    Compacted,
    Done,
    MessageDelivered,
    Nested,
    QueuedInput,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDenied,
    ToolResult,
    TurnStart,
    TurnUsage,
)
from agui_middleware.agent_events.nesting import NestedRuns
from agui_middleware.agent_events.run_emitter import RunEmitter
from agui_middleware.agent_events.turns import Turns
from agui_middleware.agent_events.usage import UsageTotals

TOOL_DENIED: Final = "agent.tool_denied"
"""Name of the CUSTOM event for a refused call; value `{"name": str, "reason": str}`."""

COMPACTED: Final = "agent.compacted"
"""Name of the CUSTOM event for a compaction; value `{"messagesBefore": int, "messagesAfter": int, "promptTokens": int}`."""

DELIVERED: Final = "agent.message_delivered"
"""Type of the activity for another agent's message; content `{"id": str, "from": str}`."""


class Run:
    """Turns the loop's events of one run into AG-UI events, in the same order.

    Its own start and end are emitted by `Agent` or `Subagent`, which differ in them; `outcome` is set at the run's Done.
    """

    def __init__(self, emitter: RunEmitter, usage: UsageTotals) -> None:
        self.emitter = emitter
        self.usage = usage
        self.turns: Turns = Turns(emitter)
        self.calls: Calls = Calls(emitter)
        self.nested: NestedRuns = NestedRuns(emitter, self.calls, lambda inner: Run(inner, usage))
        self.outcome: RunOutcome | None = None
        self._counted = False

    def feed(self, event: AgentEvent) -> None:
        """Raises TypeError for anything but an AgentEvent."""
        match event:
            case TextDelta(text=text):
                self.turns.add_text(text)
            case Nested():
                self.nested.feed(event)
            case ThinkingDelta(text=text):
                self.turns.add_thinking(text)
            case AssistantText(text=text):
                self.turns.complete(text)
            case TurnStart(turn=turn):
                self.turns.start(turn)
            case ToolCall():
                self.calls.start(event, self.turns.message_id())
            case ToolResult():
                self._answer(event)
            case TurnUsage(usage=usage):
                self._counted = True
                self.usage.add(usage)
            case Done(outcome=outcome):
                self._finish(outcome)
            case _:
                self._note(event)

    def close(self) -> None:
        """End all that is open in this run, innermost first."""
        self.nested.close()
        self.turns.close()

    def _answer(self, event: ToolResult) -> None:
        call = self.calls.answer(event)
        self.nested.end_run_of(call, event)
        self.turns.interrupt()
        self.calls.emit_result(call, event)

    def _finish(self, outcome: RunOutcome) -> None:
        self.outcome = outcome
        # The total of a run that has reported the tokens of its turns would count them twice.
        if outcome.usage is not None and not self._counted:
            self.usage.add(outcome.usage)
        self.nested.close()
        if outcome.text is not None:
            self.turns.add_final_text(outcome.text)
        self.turns.close()

    def _note(self, event: QueuedInput | MessageDelivered | ToolDenied | Compacted) -> None:
        match event:
            case QueuedInput(text=text):
                self._enter(text)
            case MessageDelivered(id=id, from_=sender):
                self._deliver(id, sender)
            case ToolDenied(name=name, reason=reason):
                self.emitter.emit("CUSTOM", name=TOOL_DENIED, value={"name": name, "reason": reason})
            case Compacted(messages_before=before, messages_after=after, prompt_tokens=tokens):
                value = {"messagesBefore": before, "messagesAfter": after, "promptTokens": tokens}
                self.emitter.emit("CUSTOM", name=COMPACTED, value=value)
            case _:
                raise TypeError(f"expected an AgentEvent, not {event!r}")

    def _enter(self, text: str) -> None:
        self.turns.interrupt()
        id = self.emitter.new_id("queued")
        self.emitter.emit("TEXT_MESSAGE_START", messageId=id, role="user")
        if text:
            self.emitter.emit("TEXT_MESSAGE_CONTENT", messageId=id, delta=text)
        self.emitter.emit("TEXT_MESSAGE_END", messageId=id)

    def _deliver(self, id: str, sender: str) -> None:
        # Its text is not known here. A user message without text would come back with the next request, and providers reject
        # that; an activity keeps the place in the conversation and is never sent back.
        self.turns.interrupt()
        self.emitter.emit(
            "ACTIVITY_SNAPSHOT",
            messageId=self.emitter.new_id(f"message-{id}"),
            activityType=DELIVERED,
            content={"id": id, "from": sender},
        )
