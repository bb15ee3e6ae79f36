"""The order of a restored conversation."""

from itertools import takewhile

from agui_middleware.history.draft import Draft
from agui_middleware.history.record import Chain


def in_order(draft: Draft) -> list[str]:
    """Return the keys of all messages of a draft, in order.

    Where the user has left the order as the client holds it, it is the agent's. Messages that come back stand behind those
    that they stood behind. A message that nobody knows stays behind the one that it was posted behind, and what comes back
    there.
    """
    order = draft.keys
    left = set(draft.restored)
    for chain in draft.kept.chains:
        order = _with_missing(draft, _as_said(draft, order, chain), chain, left)
        left.difference_update(chain.keys)
    return _with_results(order, draft, left)


def _as_said(draft: Draft, order: list[str], chain: Chain) -> list[str]:
    """Return the agent's order, if the client holds the messages in another one and the user has not changed that.

    Users do not place results, so their places do not count.
    """
    said = {key: index for index, key in enumerate(chain.keys)}
    place = {key: index for index, key in enumerate(chain.base)} if chain.base else said
    known = [key for key in order if key in place]
    as_said = sorted(known, key=said.__getitem__)
    if known == as_said:
        return order
    chosen = [key for key in known if draft.messages[key][0].role != "tool"]
    if chosen != sorted(chosen, key=place.__getitem__):
        return order
    behind: dict[str, list[str]] = {}
    last, end = "", known[-1:]
    for key in order:
        if key in place:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    tail = behind.pop(end[0], []) if end else []
    return behind.get("", []) + _between(as_said, {}, behind) + tail


def _with_missing(draft: Draft, order: list[str], chain: Chain, missing: set[str]) -> list[str]:
    """Insert the missing messages of a chain behind their predecessors, those that begin the conversation in front of all.

    Where the predecessor is no longer posted, they go in front of their successor: AGUIChatClient gives the user's messages
    new ids. A message whose calls are posted in an unknown one goes behind that one.
    """
    there = set(order)
    known = set(chain.keys)
    front = list(takewhile(lambda key: key in missing and _place_of_calls(draft, key, known) is None, chain.keys))
    behind: dict[str, list[str]] = {}
    before: dict[str, list[str]] = {}
    waiting: list[str] = []
    last = None  # what the next missing message stands behind, while that is known
    end = order[-1]
    for key in chain.keys[len(front) :]:
        place = key if key in there else _place_of_calls(draft, key, known) if key in missing else None
        if place is not None:
            last = end = place
            if waiting:
                before[place], waiting = waiting, []
        if key in missing:
            (waiting if last is None else behind.setdefault(last, [])).append(key)
        elif key not in there:
            last = None
    behind.setdefault(end, []).extend(waiting)
    return front + _between(order, before, behind)


def _between(order: list[str], before: dict[str, list[str]], behind: dict[str, list[str]]) -> list[str]:
    """Return the keys, each between those that go in front of it and those that go behind it."""
    after: list[str] = []
    for key in order:
        if key in before:
            after += before[key]
        after.append(key)
        if key in behind:
            after += behind[key]
    return after


def _place_of_calls(draft: Draft, key: str, known: set[str]) -> str | None:
    """Return the posted message, unknown to the record, that holds a call of a missing one."""
    places = (draft.posted_calls[call][0] for call in draft.kept.items[key].calls if call in draft.posted_calls)
    return next((place for place in places if place not in known), None)


def _with_results(order: list[str], draft: Draft, left: set[str]) -> list[str]:
    """Insert results that no chain places any more behind their calls."""
    if not left:
        return order
    behind: dict[str, list[str]] = {}
    for key in draft.restored:
        if key in left:
            behind.setdefault(draft.kept.items[key].result_of, []).append(key)
    after: list[str] = []
    for key in order:
        after.append(key)
        for call in draft.messages[key][0].calls:
            after += behind.pop(call, ())
    return after
