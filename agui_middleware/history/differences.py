"""How the client's conversation differs from the agent's: the record of a response."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from msgspec import Raw

from agui_middleware.config.readers import Reader
from agui_middleware.downgrades.binary_parts import posted_media
from agui_middleware.history.beginnings import Beginnings, is_cut
from agui_middleware.history.readings import reading_of
from agui_middleware.history.record import VERSION, Chain, Item, Kept, Member, keys_of
from agui_middleware.history.texts import cut
from agui_middleware.history.upgrade import upgrades_for
from agui_middleware.history.values import Flat, as_bytes, flat_call, flat_message, normal, same, text_of
from agui_middleware.protocol.event import as_id
from agui_middleware.protocol.json_object import JsonObject, encode
from agui_middleware.protocol.messages import calls_of
from agui_middleware.protocol.posted import MessageHead, Messages, Posted
from agui_middleware.protocol.reading import Reading
from agui_middleware.protocol.releases import ClientVersion

_TEXTS: Final = ("content", "function.arguments")
"""The members of which the beginning may be left out, see `texts`."""


def kept_of(
    canonical: Messages,
    base: Messages,
    given: Posted,
    posted: Posted,
    client: ClientVersion | Reader | None,
    kept: Kept | None,
    beginnings: Beginnings,
) -> Kept:
    """Return the record of a response: `canonical` is the agent's conversation after it, `base` the client's.

    `posted` is what the client has posted for it, and `given` what the agent was given, restored by the record `kept`.
    `beginnings`: what is left out of texts.
    """
    ours = [message for message in posted_media(posted.with_messages(canonical)).messages if _is_posted(message)]
    theirs = _as_posted(base, posted, client)
    differences = _Differences(ours, theirs, base, posted, reading_of(client), kept or Kept(), beginnings)
    if kept is not None:
        differences.supersede(kept, given)
    return differences.kept


def digest(raw: Raw) -> bytes:
    """Return a digest of a message without its calls. It does not depend on how the JSON is written."""
    members = {name: normal(as_bytes(value)) for name, value in flat_message(raw).items()}
    return blake2b(json.dumps(members, sort_keys=True).encode(), digest_size=8).digest()


def held_calls(messages: Iterable[tuple[str, tuple[MessageHead, Raw]]]) -> dict[str, tuple[str, JsonObject]]:
    """Map the ids of calls to the key of the message that holds each, and to the call; the first of an id counts."""
    calls: dict[str, tuple[str, JsonObject]] = {}
    for key, (head, raw) in messages:
        for call in calls_of(JsonObject.of(bytes(raw))) if head.toolCalls else ():
            id = as_id(call.get("id"))
            if id is not None:
                calls.setdefault(id, (key, call))
    return calls


def _is_posted(message: tuple[MessageHead, Raw]) -> bool:
    return message[0].role != "activity"  # no client posts them since 0.0.41; no older one has any


def _as_posted(base: Messages, posted: Posted, client: ClientVersion | Reader | None) -> Messages:
    """Return the messages that the client will post, upgraded."""
    whole = posted.with_messages(filter(_is_posted, base))
    for step in upgrades_for(client):
        whole = step(whole)
    return whole.messages


def _results(base: Messages) -> set[str]:
    keys = keys_of(head for head, _ in base)
    return {key for key, (head, _) in zip(keys, base, strict=True) if head.role == "tool"}


def _astray(base: Messages) -> set[str]:
    """Return the results that do not follow their calls: a client that cuts the messages before them cuts them too."""
    astray, held = set(), set[str]()
    keys = keys_of(head for head, _ in base)
    for key, (head, _) in zip(keys, base, strict=True):
        if head.role != "tool":
            held = set(head.calls)
        elif head.toolCallId not in held:
            astray.add(key)
    return astray


class _Differences:
    """One comparison of two conversations."""

    def __init__(
        self,
        ours: Messages,
        theirs: Messages,
        base: Messages,
        posted: Posted,
        reading: Reading,
        kept: Kept,
        beginnings: Beginnings,
    ) -> None:
        self.kept = Kept(VERSION, {}, {}, {}, [])
        self._beginnings = beginnings
        self._reading = reading
        self._strips = reading.strips
        self._before = kept
        keys = keys_of(head for head, _ in posted.messages)
        self._posted = dict(zip(keys, (raw for _, raw in posted.messages), strict=True))
        self._ours = dict(zip(keys_of(head for head, _ in ours), ours, strict=True))
        self._theirs = dict(zip(keys_of(head for head, _ in theirs), theirs, strict=True))
        moving = self._moving_calls() if reading.moves_calls else {}
        self._silent = self._take_out_silent() if reading.moves_calls else {}
        self._asked = {id for head, _ in ours if head.toolCalls for id in head.calls}
        holders = {key for key, (head, _) in self._ours.items() if not moving.keys().isdisjoint(head.calls)}
        differing = [key for key in self._ours if key in holders or self._differs(key)]
        extra = [key for key in self._theirs if key not in self._ours]
        self._our_calls = held_calls((key, self._ours[key]) for key in differing)
        self._their_calls = held_calls((key, self._theirs[key]) for key in (*differing, *extra) if key in self._theirs)
        self._their_calls |= moving
        for key in differing:
            self._compare(key)
        for call in self._our_calls:
            self._compare_call(call)
        for key in extra:
            self._add_extra(key)
        self._keep_results(_results(base) if reading.results_late else _astray(base))
        if reading.own_results:
            self._keep_result_ids()
        self._chain(keys_of(head for head, _ in base))

    def _moving_calls(self) -> dict[str, tuple[str, JsonObject]]:
        """Return the calls of the response, each of which the client may post in another message."""
        new = ((key, message) for key, message in self._theirs.items() if key not in self._posted)
        return {id: ("", call) for id, (_, call) in held_calls(new).items()}

    def _take_out_silent(self) -> dict[str, tuple[MessageHead, Raw]]:
        """Remove messages without content from the client's, since it may not post them."""
        silent = [key for key, message in self._theirs.items() if key not in self._posted and _says_nothing(message)]
        return {key: self._theirs.pop(key) for key in silent}

    def _keep_result_ids(self) -> None:
        """Record which result answers which call, for a client that posts results under its own ids."""
        for key, (head, _) in self._ours.items():
            if head.role == "tool" and head.toolCallId:
                self.kept.items.setdefault(key, Item(members={})).result_of = head.toolCallId

    def _keep_results(self, keys: set[str]) -> None:
        """Keep whole the results that the client holds away from their calls."""
        for key in keys:
            ours = self._ours.get(key)
            if ours is not None and ours[0].toolCallId in self._asked and not is_cut(bytes(ours[1])):
                item = self.kept.items.setdefault(key, Item(members={}))
                item.whole, item.result_of = bytes(ours[1]), ours[0].toolCallId or ""

    def supersede(self, before: Kept, given: Posted) -> None:
        """Mark everything that the stream has changed, or removed from the conversation, as complete.

        Another client of the thread may still lack what the stream has left alone.
        """
        self._forget_results(before, given)
        untouched = {id(raw) for _, raw in given.messages}
        for key, (head, _) in zip(keys_of(head for head, _ in given.messages), given.messages, strict=True):
            ours = self._ours.get(key)
            if ours is not None and id(ours[1]) in untouched:
                continue
            if key in before.items:
                self.kept.items.setdefault(key, Item(members={}))
            for id_ in before.calls.keys() & set(head.calls):
                self.kept.calls.setdefault(id_, Item(members={}))
        for key in self._ours.keys() & before.items.keys():
            if id(self._ours[key][1]) not in untouched:
                self.kept.items.setdefault(key, Item(members={}))

    def _forget_results(self, before: Kept, given: Posted) -> None:
        """Forget results that were not restored with their calls: the user has deleted them, and the next chain lacks them.

        A new call of an id that was used before has results of its own.
        """
        there = set(keys_of(head for head, _ in given.messages))
        calls = self._asked.union(id for head, _ in given.messages if head.toolCalls for id in head.calls)
        for key, item in before.items.items():
            if item.result_of in calls and key not in there and key not in self._ours:
                self.kept.items.setdefault(key, Item(members={}))

    def _stripped(self, key: str) -> list[str]:
        """Return the members that the client strips from a message, except those that it has posted itself."""
        posted = bytes(self._posted.get(key, b""))
        return [name for name in self._strips if posted.find(f'"{name}"'.encode()) < 0]

    def _differs(self, key: str) -> bool:
        theirs = self._theirs.get(key)
        if theirs is None:
            return True
        raw, other = self._ours[key][1], theirs[1]
        if not (raw is other or bytes(raw) == bytes(other)):
            return True
        names = self._stripped(key)
        if not self._reading.part_members and bytes(self._posted.get(key, b"")) != bytes(other):
            names.append("content")
        return any(bytes(other).find(f'"{name}"'.encode()) >= 0 for name in names)

    def _compare(self, key: str) -> None:
        ours, theirs = self._ours[key], self._theirs.get(key)
        item = Item(members={})
        held = theirs or self._silent.get(key)
        if held is not None:
            item.members = self._members(flat_message(ours[1]), self._as_held(flat_message(held[1]), key))
        if theirs is None:
            whole = self._whole(ours)
            if is_cut(whole):
                return  # both had it, and the client has lost it
            item.whole = whole
            item.result_of = ours[0].toolCallId if ours[0].toolCallId in self._asked else ""
        calls = [id for id in ours[0].calls if self._our_calls[id][0] == key]
        if any(self._moves(id, key) for id in calls):
            item.calls = calls
        if item.members or item.whole or item.calls:
            self.kept.items[key] = item

    def _as_held(self, members: Flat, key: str) -> Flat:
        """Return the members of a message, or of a call in it, that the client keeps."""
        stripped = self._stripped(key)
        kept = {name: value for name, value in members.items() if name not in stripped}
        content = as_bytes(kept.get("content"))
        posted = bytes(self._posted.get(key, b""))
        if self._reading.part_members or content[:1] != b"[" or posted.find(content) >= 0:
            return kept
        parts = JsonObject.of(b'{"v":%b}' % content).get_list("v") or []
        return kept | {"content": [_part_as_held(part) if isinstance(part, JsonObject) else part for part in parts]}

    def _whole(self, message: tuple[MessageHead, Raw]) -> bytes:
        """Return a message that the client does not hold, without its calls, which are kept separately."""
        if message[0].toolCalls:
            return JsonObject.of(bytes(message[1])).without("toolCalls").raw
        return bytes(message[1])

    def _moves(self, call: str, key: str) -> bool:
        return call not in self._their_calls or self._their_calls[call][0] != key

    def _compare_call(self, id: str) -> None:
        key, call = self._our_calls[id]
        item = Item(members={}, holder=key if self._moves(id, key) else "")
        if id in self._their_calls:
            place, theirs = self._their_calls[id]
            item.members = self._members(flat_call(call), self._as_held(flat_call(theirs), place))
        elif is_cut(call.raw):
            return
        else:
            item.whole = call.raw
        if item.members or item.whole or item.holder:
            self.kept.calls[id] = item

    def _members(self, ours: Flat, theirs: Flat) -> dict[str, Member]:
        """Return the members in which a client's copy differs."""
        members = {}
        for name in ours.keys() | theirs.keys():
            said, held = as_bytes(ours.get(name)), as_bytes(theirs.get(name))
            if name != "id" and not same(said, held):
                member = self._text_member(said, held) if name in _TEXTS else Member(said, [held])
                if member is not None:
                    members[name] = member
        return members

    def _text_member(self, said: bytes, held: bytes) -> Member | None:
        if not (is_cut(said) or is_cut(held)):
            return Member(said, [held])
        left = cut(text_of(said) or "", text_of(held) or "")
        if left is None or left.canonical == left.base:
            return None
        beginning = self._beginnings.digest(left.mark) if left.mark else b""
        return Member(encode(left.canonical), [encode(left.base)], beginning)

    def _add_extra(self, key: str) -> None:
        raw = self._theirs[key][1]
        if not is_cut(bytes(raw)):
            self.kept.extras[key] = digest(raw)

    def _chain(self, held: list[str]) -> None:
        """Record the order of the agent's messages, and the client's where it differs."""
        keys = [key for key in self._ours if key in self._theirs or key in self.kept.items]
        common = [key for key in keys if key in self._theirs]
        there = set(common)
        base = [key for key in held if key in there]
        # Behind an earlier one a chain is kept in any case: it says what no longer stands where it stood.
        if len(common) < len(keys) or common != base or self._before.chains:
            flags = bytes(key in self._theirs for key in keys)
            users = bytes(self._ours[key][0].role == "user" for key in keys)
            self.kept.chains.append(Chain(keys, flags, users, [] if common == base else base))


def _says_nothing(message: tuple[MessageHead, Raw]) -> bool:
    head, raw = message
    return head.role != "tool" and not JsonObject.of(bytes(raw)).get("content")


def _part_as_held(part: JsonObject) -> JsonObject:
    type = part.get("type")
    if type == "binary":
        return part
    return part.without("id", "metadata") if type == "text" else part.without("id")
