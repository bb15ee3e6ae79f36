"""What each declared difference leaves of an end: two ends that differ only by it have the same projection.

A projection takes as little as it can. Where it has to know what was streamed, it looks into the events of the case.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from agui_middleware.downgrades import Difference
from tests.downgrades.cases import Case
from tests.strategies import Json


@dataclass
class End:
    """The messages and the state that the application holds after the run; a projection's own to change."""

    messages: list[Json]
    state: Any
    original: bool
    """Whether it is 1.0.0's, on the original, next to which the other one stands."""


Projection = Callable[[End, Case], None]
PROJECTIONS: dict[Difference, Projection] = {}


def projects(difference: Difference) -> Callable[[Projection], Projection]:
    """Register the projection of a difference."""

    def register(projection: Projection) -> Projection:
        PROJECTIONS[difference] = projection
        return projection

    return register


def projected(end: End, differences: Iterable[Difference], case: Case) -> End:
    """What these differences leave of an end, in the order in which they are declared in the enumeration."""
    end = replace(end, **json.loads(json.dumps({"messages": end.messages, "state": end.state})))
    for difference in sorted(differences, key=list(Difference).index):
        PROJECTIONS[difference](end, case)
    return end


def drop(end: End, ids: set[Any], case: Case) -> None:
    """Drop the messages with these ids, but for the tool calls that the stream put into them."""
    openers = ("TOOL_CALL_START", "TOOL_CALL_CHUNK")
    streamed = {event.get("toolCallId") for event in case.events if event["type"] in openers}
    kept = []
    for message in end.messages:
        if message["id"] not in ids:
            kept.append(message)
        elif calls := [call for call in message.get("toolCalls", ()) if call["id"] in streamed]:
            kept.append({"id": message["id"], "role": "assistant", "toolCalls": calls})
    end.messages = kept


@projects(Difference.WITHOUT_ATTRIBUTION)
def _without_attribution(end: End, _: Case) -> None:
    for message in end.messages:
        message.pop("subagentRunId", None)


@projects(Difference.WITHOUT_METADATA)
def _without_metadata(end: End, _: Case) -> None:
    for message in end.messages:
        for holder in (message, *message.get("toolCalls", ())):
            holder.pop("metadata", None)


@projects(Difference.RESULTS_LAST)
def _results_last(end: End, _: Case) -> None:
    results = [message for message in end.messages if message["role"] == "tool"]
    others = [message for message in end.messages if message["role"] != "tool"]
    end.messages = others + sorted(results, key=lambda message: str(message["id"]))
