"""Which of the messages that a client has never held come back."""

from collections.abc import Iterator

from agui_middleware.history.draft import Draft
from agui_middleware.history.record import ABSENT, Chain, Item
from agui_middleware.protocol.json_object import JsonObject


def returning(draft: Draft) -> list[str]:
    """Return the keys of the messages that come back, in the order of their chains.

    - Between messages that are still posted, a message comes back.
    - Behind the last of them it comes back too, unless the conversation was cut: where the user's message that it followed
      is no longer posted, or is the last that is posted, that is to be answered again.
    - A result comes back with its call, and a message that was there for calls alone with one of these.
    """
    back: dict[str, None] = {}
    for chain in draft.kept.chains:
        for key in _of_chain(draft, chain):
            if key not in draft.messages and key in draft.kept.items and draft.kept.items[key].whole != ABSENT:
                back[key] = None
    return _with_calls(draft, back)


def _of_chain(draft: Draft, chain: Chain) -> Iterator[str]:
    """Yield the missing messages of a chain whose neighbours are still posted."""
    known, answered = draft.kept.known_to(chain), draft.kept.answered_beside(chain)
    posted = draft.messages.keys() - known
    last = next((place for place in reversed(range(len(chain.keys))) if chain.keys[place] in posted), -1)
    before = ""  # the last one that is posted
    is_cut = False  # a user's message behind that is not
    for place, key in enumerate(chain.keys):
        if key in draft.messages:
            before, is_cut = key, False
        elif chain.held[place]:
            is_cut = is_cut or bool(chain.users[place])
        elif before not in known and (place < last or (not is_cut and _is_answered(draft, before, answered))):
            yield key


def _is_answered(draft: Draft, key: str, again: set[str]) -> bool:
    """Whether what stood behind a message still does: not behind a question that was answered `again`, or is to be."""
    if not key or key in again:
        return False
    return draft.keys[-1] != key or draft.messages[key][0].role != "user"


def _with_calls(draft: Draft, back: dict[str, None]) -> list[str]:
    """Let the calls decide on results, and on messages that say nothing but calls."""
    items, calls = draft.kept.items, draft.kept.calls
    for key, item in items.items():
        if item.whole == ABSENT or key in draft.messages:
            continue
        if not draft.call_ids.isdisjoint(item.calls):
            back[key] = None
        elif item.calls and _says_nothing(item) and not any(_is_whole(calls.get(id)) for id in item.calls):
            back.pop(key, None)
    _with_results(draft, back)
    return list(back)


def _with_results(draft: Draft, back: dict[str, None]) -> None:
    there = draft.messages.keys() | back.keys()
    decided = _deleted(draft) | _answered(draft)
    for key, item in draft.kept.items.items():
        if not item.result_of or item.whole == ABSENT or key in draft.messages:
            continue
        call = draft.kept.calls.get(item.result_of)
        is_back = call is not None and call.whole != ABSENT and call.holder in there
        if key not in decided and (is_back or item.result_of in draft.call_ids):
            back[key] = None
        else:
            back.pop(key, None)


def _answered(draft: Draft) -> set[str]:
    """Return the kept results of calls that the application has answered itself."""
    known = set(draft.kept.items).union(*(chain.keys for chain in draft.kept.chains))
    own = {head.toolCallId for key, (head, _) in draft.messages.items() if head.role == "tool" and key not in known}
    return {key for key, item in draft.kept.items.items() if item.result_of in own - {None}}


def _deleted(draft: Draft) -> set[str]:
    """Return the messages that the user has deleted: the client held them before one that it still posts."""
    deleted: set[str] = set()
    chains = draft.kept.chains
    read = {stamp for chain in chains for stamp in chain.seen}
    for chain in (chain for chain in chains if chain.stamp not in read):
        held = chain.base or [key for key, is_held in zip(chain.keys, chain.held, strict=True) if is_held]
        last = next((place for place in reversed(range(len(held))) if held[place] in draft.messages), 0)
        deleted |= set(held[:last]) - draft.messages.keys()
    return deleted


def _is_whole(item: Item | None) -> bool:
    return item is not None and item.whole != ABSENT


def _says_nothing(item: Item) -> bool:
    return not JsonObject.of(item.whole).get("content")
