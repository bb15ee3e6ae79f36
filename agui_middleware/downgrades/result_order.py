"""Tool results that stand where they arrived, put behind their calls in the conversation that a client posts.

1.0.0 inserts a result behind the message that holds its call, and behind the results that stand there already. A release
before 0.0.55 appends it, so that texts of other agents may stand between the two; providers of models refuse that.
"""

from bisect import bisect_left

from agui_middleware.protocol.posted import Messages, Posted


def results_behind_calls(posted: Posted) -> Posted:
    """Move each tool message behind the results that follow its call. One whose call is not there stays where it is.

    Where several messages hold a call of that id, the result belongs to the last one before it.
    """
    messages = posted.messages
    strays = _strays(messages)
    if not strays:
        return posted
    ends = _ends_of_results(messages)
    moved = _misplaced(messages, strays, ends)
    if not moved:
        return posted
    behind: dict[int, Messages] = {}
    for place, holder in moved.items():
        behind.setdefault(ends[holder], []).append(messages[place])
    after: Messages = []
    for place, message in enumerate(messages):
        if place not in moved:
            after.append(message)
        after += behind.get(place, ())
    return posted.with_messages(after)


def _misplaced(messages: Messages, strays: list[int], ends: list[int]) -> dict[int, int]:
    """The places of the results that do not follow their calls, and those of the messages that hold these."""
    holders: dict[str, list[int]] = {}
    for place, (head, _) in enumerate(messages):
        if head.toolCalls:
            for id in head.calls:
                holders.setdefault(id, []).append(place)
    moved = {}
    for place in strays:
        held_in = holders.get(messages[place][0].toolCallId or "")
        if held_in:
            holder = held_in[max(bisect_left(held_in, place) - 1, 0)]
            if not holder < place <= ends[holder]:
                moved[place] = holder
    return moved


def _strays(messages: Messages) -> list[int]:
    """The places of the results whose calls are not in the message that they follow."""
    strays, held = [], frozenset[str | None]()
    for place, (head, _) in enumerate(messages):
        if head.role != "tool":
            held = frozenset(call.id for call in head.toolCalls) if head.toolCalls else frozenset()
        elif head.toolCallId not in held:
            strays.append(place)
    return strays


def _ends_of_results(messages: Messages) -> list[int]:
    """For each place the last of the tool messages that follow it; the place itself where none does."""
    ends = list(range(len(messages)))
    for place in range(len(messages) - 2, -1, -1):
        if messages[place + 1][0].role == "tool":
            ends[place] = ends[place + 1]
    return ends
