"""A posted conversation while it is being restored."""

from collections.abc import Iterable
from typing import Final

from msgspec import Raw

from agui_middleware.history.beginnings import digest_of
from agui_middleware.history.differences import digest, held_calls
from agui_middleware.history.record import ABSENT, Item, Kept, Member, keys_of
from agui_middleware.history.values import (
    Flat,
    alike,
    as_bytes,
    flat_call,
    same,
    text_of,
    with_call_members,
    with_members,
)
from agui_middleware.protocol.json_object import JsonObject, encode
from agui_middleware.protocol.posted import MessageHead, Posted, as_message, head_of

_HEAD: Final = frozenset(MessageHead.__struct_fields__)


class Draft:
    """The messages of a posted conversation by key, and the changes to them.

    Call the steps in the order in which they are defined.
    """

    def __init__(self, posted: Posted, kept: Kept) -> None:
        self.kept: Kept = kept
        self.messages: dict[str, tuple[MessageHead, Raw]] = dict(
            zip(keys_of(head for head, _ in posted.messages), posted.messages, strict=True)
        )
        self.posted: Posted = posted
        self.keys: list[str] = list(self.messages)
        self.restored: list[str] = []
        """The keys of the messages that have come back."""
        self.members: int = 0
        self.placed: int = 0
        """How many calls have come back, or into their own message."""
        self.removed: set[str] = set()
        self.call_ids: set[str] = {
            call.id for head, _ in posted.messages if head.toolCalls for call in head.toolCalls if call.id is not None
        }
        """The calls that are posted."""
        concerned = (message for message in self.messages.items() if message[1][0].toolCalls) if kept.calls else ()
        self.posted_calls: dict[str, tuple[str, JsonObject]] = held_calls(concerned)

    @property
    def is_known(self) -> bool:
        """Whether the record knows any of the posted messages or calls."""
        kept = self.kept
        if not self.messages.keys().isdisjoint(kept.items) or not self.messages.keys().isdisjoint(kept.extras):
            return True
        if not self.posted_calls.keys().isdisjoint(kept.calls):
            return True
        if any(not self.messages.keys().isdisjoint(chain.keys) for chain in kept.chains):
            return True
        return any(item.result_of in self.call_ids for item in kept.items.values())

    def bring_back(self, keys: Iterable[str]) -> None:
        """Add messages that the client does not hold."""
        for key in keys:
            whole = self.kept.items[key].whole
            self.messages[key] = head_of(whole), Raw(whole)
            self.restored.append(key)

    def place_calls(self) -> None:
        """Restore calls, each in the message that it belongs to, in the agent's order."""
        lists: dict[str, list[tuple[str, JsonObject]]] = {}
        for id, item in self.kept.calls.items():
            place, call = self.posted_calls.get(id, ("", None))
            if call is None and item.whole != ABSENT and self._holds(item.holder, id):
                call = JsonObject.of(item.whole)
                self._list(lists, item.holder).append((id, call))
                self.placed += 1
            elif call is not None:
                self._replace_call(lists, id, item, place, call)
        for key, calls in lists.items():
            self._set_calls(key, [call for _, call in _ordered(calls, self.kept.items.get(key))])

    def put_back_members(self) -> None:
        """Restore the members that the client could not be given."""
        restored = set(self.restored)
        for key, item in self.kept.items.items():
            message = self.messages.get(key)
            if message is None or key in restored or not item.members:
                continue
            posted = JsonObject.of(bytes(message[1]))
            changes = _changes(posted.members(), item)
            if "role" in changes and "content" not in posted:
                changes["content"] = b'""'  # an assistant's content alone is optional
            if changes:
                self.members += len(changes)
                after = with_members(posted, changes)
                is_as_before = _HEAD.isdisjoint(changes)
                self.messages[key] = (message[0], Raw(after.raw)) if is_as_before else as_message(after)

    def remove_extras(self) -> None:
        """Remove messages that a filter has added, unless the user has edited them or they hold calls."""
        for key, known in self.kept.extras.items():
            message = self.messages.get(key)
            if message is not None and not message[0].toolCalls and digest(message[1]) == known:
                self.removed.add(key)

    def remove_copies(self) -> None:
        """Remove an SDK's own copies of reasoning, where the agent's has been restored."""
        back = [thought for key in self.restored if (thought := _thought(self.messages[key])) is not None]
        thoughts = "".join(back)
        known = self.kept.items.keys() | {key for chain in self.kept.chains for key in chain.keys}
        for key in self.keys if back else ():
            thought = _thought(self.messages[key])
            if thought is not None and thought in thoughts and key not in known:
                self.removed.add(key)

    def result(self, order: list[str]) -> Posted:
        """Return the conversation in this order; the posted one if nothing has changed."""
        after = [self.messages[key] for key in order if key not in self.removed]
        restored = self.posted.with_messages(after)
        return self.posted if restored.holds_messages_of(self.posted) else restored

    def _holds(self, key: str, call: str) -> bool:
        """Whether a call belongs to a message, rather than to an earlier one of its id."""
        message, item = self.messages.get(key), self.kept.items.get(key)
        if message is None:
            return False
        if item is not None and (item.calls or item.whole != ABSENT):
            return call in item.calls  # of a message that the client has not, all are listed
        return message[0].role == "assistant"

    def _replace_call(
        self, lists: dict[str, list[tuple[str, JsonObject]]], id: str, item: Item, place: str, call: JsonObject
    ) -> None:
        changes = _changes(flat_call(call), item)
        moves = item.holder not in ("", place) and self._holds(item.holder, id)
        if not (changes or moves):
            return
        self.members += len(changes)
        self.placed += moves
        after = with_call_members(call, changes) if changes else call
        held = self._list(lists, place)
        index = next(index for index, (other, _) in enumerate(held) if other == id)
        if moves:
            del held[index]
            self._list(lists, item.holder).append((id, after))
        else:
            held[index] = (id, after)

    def _list(self, lists: dict[str, list[tuple[str, JsonObject]]], key: str) -> list[tuple[str, JsonObject]]:
        if key not in lists:
            head, raw = self.messages[key]
            calls = JsonObject.of(bytes(raw)).get_list("toolCalls") if head.toolCalls else None
            lists[key] = [(str(call.get("id")) if isinstance(call, JsonObject) else "", call) for call in calls or ()]
        return lists[key]

    def _set_calls(self, key: str, calls: list[JsonObject]) -> None:
        head, raw = self.messages[key]
        message = JsonObject.of(bytes(raw))
        if calls:
            self.messages[key] = as_message(message.replace(toolCalls=calls))
        else:
            self.messages[key] = as_message(message.without("toolCalls"))
            if head.role == "assistant" and not message.get("content") and key not in self.kept.items:
                self.removed.add(key)  # it was there for the calls alone


def _thought(message: tuple[MessageHead, Raw]) -> str | None:
    content = JsonObject.of(bytes(message[1])).get("content") if message[0].role == "reasoning" else None
    return content if isinstance(content, str) else None


def _ordered(calls: list[tuple[str, JsonObject]], item: Item | None) -> list[tuple[str, JsonObject]]:
    """Sort calls as the agent has them; a call that it does not know stays behind its predecessor."""
    if item is None or not item.calls:
        return calls
    rank = {id: place for place, id in enumerate(item.calls)}
    ranks, last = [], -1
    for id, _ in calls:
        last = rank.get(id, last)
        ranks.append(last)
    return [calls[index] for index in sorted(range(len(calls)), key=ranks.__getitem__)]


def _changes(members: Flat, item: Item) -> dict[str, bytes]:
    """The members in which a copy is what the client was given, with what the agent has."""
    changes = {}
    for name, member in item.members.items():
        posted = as_bytes(members.get(name))
        after = _with_end(posted, member) if member.beginning else _whole(posted, member)
        if after is not None:
            changes[name] = after
    return changes


def _whole(posted: bytes, member: Member) -> bytes | None:
    if same(posted, member.canonical):
        return None
    is_as_given = posted in member.bases or any(alike(posted, base) for base in member.bases)
    return member.canonical if is_as_given else None


def _with_end(posted: bytes, member: Member) -> bytes | None:
    text, end = text_of(posted), text_of(member.canonical)
    if text is None or end is None:
        return None
    for base in map(text_of, member.bases):
        if base is not None and text.endswith(base):
            beginning = text[: len(text) - len(base)]
            if digest_of(beginning) == member.beginning:
                return encode(beginning + end)
    return None
