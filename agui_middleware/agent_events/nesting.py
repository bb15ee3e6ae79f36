"""The runs inside a run's tools: which of them an event is from, and when each is over."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agui_middleware.agent_events.attribution import whose
from agui_middleware.agent_events.calls import Call, Calls
from agui_middleware.agent_events.models import Done, Nested, RunOutcome, ToolResult
from agui_middleware.agent_events.run_emitter import Voice
from agui_middleware.agent_events.subagent import Subagent

if TYPE_CHECKING:
    from agui_middleware.agent_events.run import Run


class Children:
    """With the id of its call, a child is known for certain: a call has one at a time, and what comes after a child's
    Done is the call's next. Without it, `whose` has to judge by what the event says.

    A child without an id is linked to a call if just one call of its tool is waiting without a child. Else it ends by
    its own Done, by a result that repeats its last text, or when no call of the tool waits any longer; then it counts
    as failed if one of those results was an error, since it is not to be seen which.
    """

    def __init__(self, voice: Voice, calls: Calls, make_run: "Callable[[Voice], Run]") -> None:
        self._voice = voice
        self._calls = calls
        self._make_run = make_run
        # What has had its Done is forgotten. What was ended by others is not: its last events may still be on the way.
        self._children: dict[Subagent, None] = {}
        self._by_call: dict[str, Subagent] = {}
        self._without_id: dict[str, list[Subagent]] = {}
        self._failed: set[str] = set()

    def feed(self, event: Nested) -> None:
        child = self._guess(event) if event.id is None else self._of_call(event.id, event)
        if child is not None:
            child.feed(event.event)
            if child.run.outcome is not None:
                self._forget(child)

    def answered(self, call: Call, event: ToolResult) -> None:
        """The run inside this call, if there is one, is over."""
        child = self._by_call.get(call.id)
        if child is not None:
            child.answered(event)
            return
        unlinked = [child for child in self._without_id.get(call.tool, []) if child.active and child.call is None]
        if unlinked:
            self._unlinked_answered(unlinked, call.tool, event)

    def close(self) -> None:
        """The run is over, and with it all that still runs inside it, newest first."""
        for child in reversed(self._children):
            child.abandon()

    def _of_call(self, id: str, event: Nested) -> Subagent | None:
        call = self._calls.named(id, event.tool)
        child = self._by_call.get(call.id)
        if child is None and call.delegated and isinstance(event.event, Done):
            return None  # said twice
        return child or self._start(event.tool, call)

    def _guess(self, event: Nested) -> Subagent:
        known = self._without_id.setdefault(event.tool, [])
        waiting = self._waiting(event.tool)
        active = [child for child in known if child.active]
        if active:
            unlinked = sum(child.call is None for child in active)
            all_running = any(self._calls.open(event.tool)) and len(waiting) <= unlinked
            child = whose(event.event, active) or (active[-1] if all_running else None)
        else:
            child = known[-1] if known and not waiting else None
        if child is None:
            child = self._start(event.tool, waiting[0] if len(waiting) == 1 else None)
        else:
            known.remove(child)
        known.append(child)
        return child

    def _waiting(self, tool: str) -> Sequence[Call]:
        """The unanswered calls of a tool without a child; such as had one only if there are no others."""
        without = [call for call in self._calls.open(tool) if call.id not in self._by_call]
        return [call for call in without if not call.delegated] or without

    def _start(self, tool: str, call: Call | None) -> Subagent:
        child = Subagent(self._make_run(self._voice.nested(tool)), tool, call, parent=self._voice.tag)
        self._children[child] = None
        if call is not None:
            self._by_call[call.id] = child
        return child

    def _forget(self, child: Subagent) -> None:
        del self._children[child]
        if child.call is not None:
            child.call.delegated = True
            del self._by_call[child.call.id]
        without_id = self._without_id.get(child.tool, [])
        if child in without_id:
            without_id.remove(child)

    def _unlinked_answered(self, unlinked: Sequence[Subagent], tool: str, event: ToolResult) -> None:
        fitting = [child for child in unlinked if child.run.turns.has_said(event.content)]
        if fitting:
            fitting[0].answered(event)
            return
        if event.is_error:
            self._failed.add(tool)
        if not any(self._calls.open(tool)):
            outcome = RunOutcome(status="error" if tool in self._failed else "finished")
            self._failed.discard(tool)
            for child in unlinked:
                child.finish(outcome)
