"""Whose events are that name no entity by an id: steps, which have names only, and thinking, which has none.

See `ownership.py` for all others.
"""

from typing import Any, Final

from agui_middleware.protocol.budget import Budget, Index
from agui_middleware.protocol.event import UNSET, Head, as_id
from agui_middleware.protocol.event_kind import STEP, THINKING, THINKING_SPAN, Action, Owner
from agui_middleware.protocol.event_types import types_that

THINKING_TYPES: Final = types_that(
    lambda kind: kind.about in (THINKING, THINKING_SPAN) and kind.owner is not Owner.SUBAGENT
)
STEP_TYPES: Final = types_that(lambda kind: kind.owner is Owner.STEP)
_STARTS_A_STEP: Final = types_that(lambda kind: kind.about is STEP and kind.action is Action.OPENS)


def tagged(tag: Any) -> bool:
    """Whether a `subagentRunId` names a subagent; one of a wrong type counts, so that hiding fails closed."""
    return tag is not UNSET and tag is not None


class Steps:
    """Which steps are whose. A step end belongs to whoever has a step of that name open, the parent first.

    A subagent's that its run left open stays its own: of the next run's parent, only what that opens is.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        budget = budget or Budget()
        self._parents: Index[str | None, Any] = Index(budget)
        self._subagents: Index[str | None, int] = Index(budget)  # how many of a name are open

    def take(self, head: Head) -> bool:
        """Whether a STEP_STARTED or STEP_FINISHED is a subagent's."""
        name = as_id(head.stepName)
        if tagged(head.subagentRunId):
            self._count(name, 1 if head.type in _STARTS_A_STEP else -1)
            return True
        if head.type in _STARTS_A_STEP:
            self._parents.add(name)
            return False
        if name in self._parents:
            del self._parents[name]
            return False
        return name in self._subagents

    def _count(self, name: str | None, change: int) -> None:
        count = self._subagents.get(name, 0) + change
        if count > 0:
            self._subagents[name] = count
        else:
            self._subagents.discard(name)

    def begin_run(self) -> None:
        """Forget what the parent's last run left open."""
        self._parents.clear()


class Thinking:
    """Whose THINKING_* events are whose. They name nothing: what a subagent has opened is closed by the next end.

    So the parent's own thinking is dropped while a subagent's is open. Nothing in the stream tells the two apart.
    """

    def __init__(self) -> None:
        self._spans = 0  # of subagents, open
        self._text = False  # whether a subagent has a text open

    def take(self, head: Head) -> bool:
        """Whether a THINKING_* event is a subagent's."""
        owned = tagged(head.subagentRunId) or self._spans > 0 or self._text
        if head.type == "THINKING_START" and owned:
            self._spans += 1
            self._text = False
        elif head.type == "THINKING_END":
            self._spans = max(self._spans - 1, 0)
            self._text = False
        elif head.type == "THINKING_TEXT_MESSAGE_START":
            self._text = owned
        elif head.type == "THINKING_TEXT_MESSAGE_END":
            self._text = False
        return owned

    def begin_run(self) -> None:
        """Forget what the last run left open."""
        self._spans, self._text = 0, False


class Nameless:
    """Of the events that name no entity by an id, which types and step names were whose: to tell them where a tag was lost.

    A route's filter may take off the tag of a subagent's STEP_STARTED, and leave nothing that tells it from the parent's. So
    of what subagents have sent too, no more passes as the parent's than the parent has sent.
    """

    __slots__ = ("_parents", "_subagents")

    def __init__(self, budget: Budget) -> None:
        self._parents: Index[tuple[str, str | None], int] = Index(budget)  # how many
        self._subagents: Index[tuple[str, str | None], bool] = Index(budget)

    def count(self, head: Head, owned: bool) -> None:
        """Count an event, and whether a subagent produced it."""
        key = (head.type, as_id(head.stepName))
        if owned:
            self._subagents[key] = True
        else:
            self._parents[key] = self._parents.get(key, 0) + 1

    def allows(self, head: Head, passed: "Nameless") -> bool:
        """Whether another event like this is the parent's, when those counted in `passed` were."""
        key = (head.type, as_id(head.stepName))
        return key not in self._subagents or passed._parents.get(key, 0) < self._parents.get(key, 0)
