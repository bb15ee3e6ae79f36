"""Tool results that stand where they arrived, put behind their calls in the conversation that a client posts.

1.0.0 inserts a result behind the message that holds its call, and behind the results that stand there already. A release
before 0.0.55 appends it, so that texts of other agents may stand between the two; providers of models refuse that.
"""

from typing import Any

from agui_middleware.protocol.event import JsonObject, as_id
from agui_middleware.protocol.messages import calls_of


def results_behind_calls(input: JsonObject) -> JsonObject:
    """Move each tool message behind the results that follow its call. One whose call is not there stays where it is.

    Where several messages hold a call of that id, the result belongs to the last one before it.
    """
    messages = input.get_list("messages") or []
    moved = _misplaced(messages)
    if not moved:
        return input
    behind: dict[int, list[Any]] = {}
    for place, holder in moved.items():
        behind.setdefault(_end_of_results(messages, holder), []).append(messages[place])
    after: list[Any] = []
    for place, message in enumerate(messages):
        if place not in moved:
            after.append(message)
        after += behind.get(place, ())
    return input.replace(messages=after)


def _misplaced(messages: list[Any]) -> dict[int, int]:
    """The places of the results that do not follow their calls, and those of the messages that hold these."""
    holders: dict[str, list[int]] = {}
    for place, message in enumerate(messages):
        for call in calls_of(message):
            if (id := as_id(call.get("id"))) is not None:
                holders.setdefault(id, []).append(place)
    moved = {}
    for place, message in enumerate(messages):
        held_in = holders.get(as_id(message.get("toolCallId")) or "") if _is_result(message) else None
        if held_in:
            holder = max((other for other in held_in if other < place), default=held_in[0])
            if not holder < place <= _end_of_results(messages, holder):
                moved[place] = holder
    return moved


def _end_of_results(messages: list[Any], holder: int) -> int:
    """The place of the last of the tool messages that follow a message; its own where none does."""
    end = holder
    while end + 1 < len(messages) and _is_result(messages[end + 1]):
        end += 1
    return end


def _is_result(message: Any) -> bool:
    return isinstance(message, JsonObject) and message.get("role") == "tool"
