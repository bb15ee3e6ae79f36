"""Which of several running children of one tool an event without an id is from."""

import math
from collections.abc import Sequence

from agui_middleware.agent_events.models import AgentEvent, AssistantText, Done, Nested, ToolResult, TurnStart
from agui_middleware.agent_events.subagent import Subagent


def whose(event: AgentEvent, children: Sequence[Subagent]) -> Subagent | None:
    """The child that the event fits best; `children` has at least one, and the last to speak is the last.

    A turn follows an earlier one, the nearest, and the results of the calls that were made in it; None if all the
    children have had it, which makes it a new child's. A result is for the child that asked, something nested for the
    child that holds the call. A whole text, or the text of a Done, repeats what that child said. Everything else, and
    what fits several as well, is from the child that spoke last.
    """
    match event:
        case TurnStart(turn=turn):
            earlier = [child for child in reversed(children) if _turn(child) < turn]
            return max(earlier, key=lambda child: (_turn(child), child.run.calls.all_answered), default=None)
        case ToolResult(id=id) | Nested(id=str(id)):
            fitting = [child for child in children if child.run.calls.is_open(id)]
        case AssistantText(text=text):
            fitting = [child for child in children if child.run.turns.is_streaming(text)]
        case Done(outcome=outcome) if outcome.text is not None:
            fitting = [child for child in children if child.run.turns.has_said(outcome.text)]
        case _:
            fitting = []
    return fitting[-1] if fitting else children[-1]


def _turn(child: Subagent) -> float:
    number = child.run.turns.number
    return -math.inf if number is None else number
