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
from agui_middleware.agent_events.nesting import Children
from agui_middleware.agent_events.run_emitter import Voice
from agui_middleware.agent_events.turns import Turns
from agui_middleware.agent_events.usage import Ledger

TOOL_DENIED: Final = "agent.tool_denied"
"""CUSTOM event of a refused call; value `{"name": str, "reason": str}`."""

COMPACTED: Final = "agent.compacted"
"""CUSTOM event; value `{"messagesBefore": int, "messagesAfter": int, "promptTokens": int}`."""

DELIVERED: Final = "agent.message_delivered"
"""Activity of another agent's message; content `{"id": str, "from": str}`."""


class Run:
    """Turns what one run says into events of its voice, in the order it says them.

    It knows nothing of its own beginning and end in AG-UI: `outcome` is set when the loop has told it, and whoever
    feeds the run says so to the client.
    """

    def __init__(self, voice: Voice, ledger: Ledger) -> None:
        self.voice = voice
        self.ledger = ledger
        self.turns: Turns = Turns(voice)
        self.calls: Calls = Calls(voice)
        self.children: Children = Children(voice, self.calls, lambda inner: Run(inner, ledger))
        self.outcome: RunOutcome | None = None
        self._counted = False

    def feed(self, event: AgentEvent) -> None:
        """Raises TypeError for what is not an AgentEvent."""
        match event:
            case TextDelta(text=text):
                self.turns.say(text)
            case Nested():
                self.children.feed(event)
            case ThinkingDelta(text=text):
                self.turns.think(text)
            case AssistantText(text=text):
                self.turns.conclude(text)
            case TurnStart(turn=turn):
                self.turns.start(turn)
            case ToolCall():
                self.calls.announce(event, self.turns.holder())
            case ToolResult():
                self._answer(event)
            case TurnUsage(usage=usage):
                self._counted = True
                self.ledger.add(usage)
            case Done(outcome=outcome):
                self._finish(outcome)
            case _:
                self._note(event)

    def close(self) -> None:
        """End all that is open in this run, innermost first."""
        self.children.close()
        self.turns.close()

    def _answer(self, event: ToolResult) -> None:
        call = self.calls.answer(event)
        self.children.answered(call, event)
        self.turns.interrupt()
        self.calls.tell(call, event)

    def _finish(self, outcome: RunOutcome) -> None:
        self.outcome = outcome
        # The total of a run that has told the tokens of its turns would count them twice.
        if outcome.usage is not None and not self._counted:
            self.ledger.add(outcome.usage)
        self.children.close()
        if outcome.text is not None:
            self.turns.settle(outcome.text)
        self.turns.close()

    def _note(self, event: QueuedInput | MessageDelivered | ToolDenied | Compacted) -> None:
        match event:
            case QueuedInput(text=text):
                self._enter(text)
            case MessageDelivered(id=id, from_=sender):
                self._deliver(id, sender)
            case ToolDenied(name=name, reason=reason):
                self.voice.emit("CUSTOM", name=TOOL_DENIED, value={"name": name, "reason": reason})
            case Compacted(messages_before=before, messages_after=after, prompt_tokens=tokens):
                value = {"messagesBefore": before, "messagesAfter": after, "promptTokens": tokens}
                self.voice.emit("CUSTOM", name=COMPACTED, value=value)
            case _:
                raise TypeError(f"{event!r} is no AgentEvent")

    def _enter(self, text: str) -> None:
        self.turns.interrupt()
        id = self.voice.new_id("queued")
        self.voice.emit("TEXT_MESSAGE_START", messageId=id, role="user")
        if text:
            self.voice.emit("TEXT_MESSAGE_CONTENT", messageId=id, delta=text)
        self.voice.emit("TEXT_MESSAGE_END", messageId=id)

    def _deliver(self, id: str, sender: str) -> None:
        # Its text is not known here, and a user message without text would come back with the next request, where
        # providers reject it. An activity keeps the place in the conversation and is never sent back.
        self.turns.interrupt()
        self.voice.emit(
            "ACTIVITY_SNAPSHOT",
            messageId=self.voice.new_id(f"message-{id}"),
            activityType=DELIVERED,
            content={"id": id, "from": sender},
        )
