"""What of an earlier record of a thread no longer holds after a response."""

from collections.abc import Mapping

from msgspec import Raw

from agui_middleware.history.record import Item, Kept, keys_of
from agui_middleware.protocol.posted import MessageHead, Posted


def supersede(before: Kept, given: Posted, ours: Mapping[str, tuple[MessageHead, Raw]], kept: Kept) -> None:
    """Mark in `kept` everything that the stream has changed, or removed from the conversation, as complete.

    `given` is what the agent was given, restored by the record `before`, and `ours` its conversation after the stream, by
    key. Another client of the thread may still lack what the stream has left alone.
    """
    keys = keys_of(head for head, _ in given.messages)
    _forget_results(before, given, set(keys), ours, kept)
    untouched = {id(raw) for _, raw in given.messages}
    for key, (head, _) in zip(keys, given.messages, strict=True):
        stands = ours.get(key)
        if stands is not None and id(stands[1]) in untouched:
            continue
        if key in before.items:
            kept.items.setdefault(key, Item(members={}))
        for call in before.calls.keys() & set(head.calls):
            kept.calls.setdefault(call, Item(members={}))
    for key in ours.keys() & before.items.keys():
        if id(ours[key][1]) not in untouched:
            kept.items.setdefault(key, Item(members={}))


def _forget_results(
    before: Kept, given: Posted, there: set[str], ours: Mapping[str, tuple[MessageHead, Raw]], kept: Kept
) -> None:
    """Forget results that were not restored with their calls: the user has deleted them, and the next chain lacks them.

    A new call of an id that was used before has results of its own.
    """
    heads = [head for head, _ in (*ours.values(), *given.messages)]
    calls = {id for head in heads if head.toolCalls for id in head.calls}
    for key, item in before.items.items():
        if item.result_of in calls and key not in there and key not in ours:
            kept.items.setdefault(key, Item(members={}))
