"""Decides which of several running subagents of one tool an event without a call id belongs to."""

from collections import OrderedDict
from collections.abc import Iterable

from agui_middleware.agent_events.models import AgentEvent, AssistantText, Done, Nested, ToolCall, ToolResult, TurnStart
from agui_middleware.agent_events.speech_index import Buckets, SpeechIndex, has_sent, turn_key
from agui_middleware.agent_events.subagent import Subagent


class Candidates:
    """The subagents of one tool whose events have no call id.

    The active ones are kept in an index, except the last to speak: it is compared directly, and indexed once another one
    speaks. So a streamed token costs nothing here, and no event costs more where more subagents run.
    """

    def __init__(self) -> None:
        # All in the order in which they last spoke. One that was ended by its call's result is still known: its last
        # events may be on the way.
        self._known: OrderedDict[Subagent, None] = OrderedDict()
        self._active: OrderedDict[Subagent, None] = OrderedDict()
        self._unlinked: OrderedDict[Subagent, None] = OrderedDict()  # active, without a call
        self._calling: Buckets[str] = Buckets()  # by the id of each of its own unanswered calls
        self._index = SpeechIndex()

    def __contains__(self, child: Subagent) -> bool:
        return child in self._known

    @property
    def last_known(self) -> Subagent | None:
        return next(reversed(self._known), None)

    @property
    def last_active(self) -> Subagent | None:
        return next(reversed(self._active), None)

    @property
    def unlinked(self) -> Iterable[Subagent]:
        """The active subagents that are linked to no call."""
        return list(self._unlinked)

    @property
    def unlinked_count(self) -> int:
        return len(self._unlinked)

    def attribute(self, event: AgentEvent, last: Subagent) -> Subagent | None:
        """The active subagent that the event fits best; None for a turn that all of them have had already.

        A turn follows the nearest earlier one, rather one whose calls have their results. A result belongs to the subagent
        that made the call, and so does a nested event. A whole text, and the text of a Done, repeat what that subagent
        streamed. Everything else, and what fits several, belongs to the last to speak (`last`) or else to make the call.
        """
        turns, calls = last.run.turns, last.run.calls
        match event:
            case TurnStart(turn=turn):
                return self._before_turn(turn, last)
            case ToolResult(id=id) | Nested(id=str(id)) if not calls.is_open(id):
                return self._calling.newest(id) or last
            case AssistantText(text=text) if not turns.is_streaming(text):
                return self._index.streaming(text) or last
            case Done(outcome=outcome) if outcome.text and not has_sent(last, outcome.text):
                return self._index.last_with_text(outcome.text) or last
            case _:
                return last

    def first_unlinked_with(self, text: str) -> Subagent | None:
        """The first to speak that is linked to no call and has sent `text`."""
        found, last = self._index.first_unlinked_with_text(text), self.last_active
        if found is None and last is not None and last.call is None and has_sent(last, text):
            return last
        return found

    def speak(self, child: Subagent, event: AgentEvent) -> None:
        """Feed the event to `child`, which becomes the last to speak and, if it is new, a candidate."""
        self._make_last(child)
        child.feed(event)
        if not child.active:
            self.deactivate(child)
        elif isinstance(event, ToolCall) and child.run.calls.is_open(event.id):
            self._calling.add(event.id, child)
        elif isinstance(event, ToolResult):
            self._calling.remove(event.id, child)

    def deactivate(self, child: Subagent) -> None:
        """To be called before a subagent is ended from outside: the index is by what it has sent and not ended."""
        if child not in self._active:
            return
        self._index.remove(child)
        for id in child.run.calls.open_ids:
            self._calling.remove(id, child)
        del self._active[child]
        self._unlinked.pop(child, None)
        if self.last_active is not None:
            self._index.remove(self.last_active)

    def forget(self, child: Subagent) -> None:
        """It has had its Done: nothing of it can follow."""
        self._known.pop(child, None)

    def _make_last(self, child: Subagent) -> None:
        last = self.last_active
        self._known[child] = None
        self._known.move_to_end(child)
        if not child.active or child is last:
            return
        if last is not None:
            self._index.add(last)
        self._index.remove(child)
        self._active[child] = None
        self._active.move_to_end(child)
        if child.call is None:
            self._unlinked[child] = None
            self._unlinked.move_to_end(child)

    def _before_turn(self, turn: int, last: Subagent) -> Subagent | None:
        found = self._index.before_turn(turn)
        if turn_key(last) >= (turn,):
            return found
        return last if found is None or turn_key(last) >= turn_key(found) else found
