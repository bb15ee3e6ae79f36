"""The runs inside a run's tool calls: which of them an event belongs to, and when each of them is over."""

from collections import defaultdict
from collections.abc import Callable

from agui_middleware.agent_events.attribution import Candidates
from agui_middleware.agent_events.calls import Call, Calls, Delegation
from agui_middleware.agent_events.models import Done, Nested, RunOutcome, ToolResult
from agui_middleware.agent_events.run_emitter import RunEmitter
from agui_middleware.agent_events.subagent import InnerRun, Subagent


class NestedRuns:
    """With the id of its call, a nested run is identified for certain: a call has one at a time, and what comes after the
    Done of one is the call's next. Without it, `Candidates.attribute` judges by the content of the event.

    A run without an id is linked to a call if exactly one call of its tool is waiting without a run. Else it ends by its own
    Done, by a result that repeats its last text, or when no call of the tool waits any longer; then it counts as failed if
    one of those results was an error, since it cannot be known which.
    """

    def __init__(self, emitter: RunEmitter, calls: Calls, make_run: Callable[[RunEmitter], InnerRun]) -> None:
        self._emitter = emitter
        self._calls = calls
        self._make_run = make_run
        # A run is forgotten at its Done. One that was ended from outside is not: its last events may be on the way.
        self._runs: dict[Subagent, None] = {}
        self._by_call: dict[str, Subagent] = {}
        self._candidates: defaultdict[str, Candidates] = defaultdict(Candidates)
        self._failed: set[str] = set()

    def feed(self, event: Nested) -> None:
        if event.id is None:
            child = self._guess(event)
            self._candidates[event.tool].speak(child, event.event)
        else:
            found = self._of_call(event.id, event)
            if found is None:
                return
            child = found
            if child in self._candidates[child.tool]:
                self._candidates[child.tool].speak(child, event.event)
            else:
                child.feed(event.event)
        if child.run.outcome is not None:
            self._forget(child)

    def end_run_of(self, call: Call, event: ToolResult) -> None:
        """The call has its result: the run inside it, if there is one, is over."""
        child = self._by_call.get(call.id)
        if child is None:
            self._end_unlinked(call.tool, event)
        else:
            self._candidates[child.tool].deactivate(child)
            child.end_with_result(event)

    def close(self) -> None:
        """The containing run is over, and with it all that still runs inside it, newest first."""
        for child in reversed(self._runs):
            self._candidates[child.tool].deactivate(child)
            child.abandon()

    def _of_call(self, id: str, event: Nested) -> Subagent | None:
        call = self._calls.named(id, event.tool)
        child = self._by_call.get(call.id)
        if child is None and call.delegation is Delegation.ENDED and isinstance(event.event, Done):
            return None  # a second Done
        return child or self._start(event.tool, call)

    def _guess(self, event: Nested) -> Subagent:
        candidates, waiting = self._candidates[event.tool], self._calls.without_run(event.tool)
        last = candidates.last_active
        if last is not None:
            # As many subagents as waiting calls: a turn that all have had is the last one's again, not another one's.
            all_running = self._calls.has_open(event.tool) and len(waiting) <= candidates.unlinked_count
            child = candidates.attribute(event.event, last) or (last if all_running else None)
        else:
            child = None if waiting else candidates.last_known
        return child or self._start(event.tool, next(iter(waiting)) if len(waiting) == 1 else None)

    def _start(self, tool: str, call: Call | None) -> Subagent:
        child = Subagent(self._make_run(self._emitter.nested(tool)), tool, call, parent=self._emitter.tag)
        self._runs[child] = None
        if call is not None:
            self._by_call[call.id] = child
            self._calls.set_delegation(call, Delegation.RUNNING)
        return child

    def _forget(self, child: Subagent) -> None:
        del self._runs[child]
        self._candidates[child.tool].forget(child)
        if child.call is not None:
            del self._by_call[child.call.id]
            self._calls.set_delegation(child.call, Delegation.ENDED)

    def _end_unlinked(self, tool: str, event: ToolResult) -> None:
        candidates = self._candidates.get(tool)
        if candidates is None or not candidates.unlinked_count:
            return
        child = candidates.first_unlinked_with(event.content)
        if child is not None:
            candidates.deactivate(child)
            child.end_with_result(event)
            return
        if event.is_error:
            self._failed.add(tool)
        if not self._calls.has_open(tool):
            outcome = RunOutcome(status="error" if tool in self._failed else "finished")
            self._failed.discard(tool)
            for child in candidates.unlinked:
                candidates.deactivate(child)
                child.end(outcome)
