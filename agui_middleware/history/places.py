"""The order of a restored conversation."""

from agui_middleware.history.draft import Draft
from agui_middleware.history.record import Chain


def in_order(draft: Draft) -> list[str]:
    """The keys of all messages of a draft, in order.

    Where the user has left the order as the client holds it, it is the agent's. Messages that come back stand behind those
    that they stood behind. A message that nobody knows stays behind the one that it was posted behind, and what comes back
    there.
    """
    order = draft.keys
    left = set(draft.restored)
    for chain in draft.kept.chains:
        order = _with_missing(_as_said(draft, order, chain), chain, left)
        left.difference_update(chain.keys)
    return _with_results(order, draft, left)


def _as_said(draft: Draft, order: list[str], chain: Chain) -> list[str]:
    """The agent's order, where the client holds the messages in another one and the user has not changed it.

    The place of a result is not the user's to choose: it does not count.
    """
    place = {key: index for index, key in enumerate(chain.base or chain.keys)}
    known = [key for key in order if key in place]
    chosen = [key for key in known if draft.messages[key][0].role != "tool"]
    if chosen != sorted(chosen, key=place.__getitem__):
        return order
    said = {key: index for index, key in enumerate(chain.keys)}
    behind: dict[str, list[str]] = {}
    last, end = "", known[-1:]
    for key in order:
        if key in place:
            last = key
        else:
            behind.setdefault(last, []).append(key)
    tail = behind.pop(end[0], []) if end else []
    known.sort(key=said.__getitem__)
    return behind.get("", []) + [each for key in known for each in (key, *behind.get(key, ()))] + tail


def _with_missing(order: list[str], chain: Chain, missing: set[str]) -> list[str]:
    """The order with the missing messages of a chain behind those that they stood behind, or in front of what followed."""
    there = set(order)
    behind: dict[str, list[str]] = {}
    first: list[str] = []
    last = None
    for key in chain.keys:
        if key in there:
            last = key
        elif key in missing:
            (first if last is None else behind.setdefault(last, [])).append(key)
    if not (behind or first):
        return order
    after: list[str] = []
    for key in order:
        after.append(key)
        after += behind.get(key, ())
    return first + after


def _with_results(order: list[str], draft: Draft, left: set[str]) -> list[str]:
    """The order with results of which no chain says any more where they stood: behind their calls."""
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
