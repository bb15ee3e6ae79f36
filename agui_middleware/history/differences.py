"""How the client's conversation differs from the agent's: the record of a response."""

import json
from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Raw

from agui_middleware.config.readers import Reader
from agui_middleware.downgrades.binary_parts import posted_media
from agui_middleware.history.beginnings import Beginnings, is_cut
from agui_middleware.history.held_members import HeldMembers
from agui_middleware.history.readings import reading_of
from agui_middleware.history.record import VERSION, Chain, Item, Kept, keys_of
from agui_middleware.history.supersede import supersede
from agui_middleware.history.upgrade import upgrades_for
from agui_middleware.history.values import as_bytes, flat_call, flat_message, normal
from agui_middleware.protocol.event import as_id
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.messages import calls_of
from agui_middleware.protocol.posted import MessageHead, Messages, Posted
from agui_middleware.protocol.reading import Reading
from agui_middleware.protocol.releases import ClientVersion


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
        supersede(kept, given, differences.ours, differences.kept)
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
        self._before = kept
        keys = keys_of(head for head, _ in posted.messages)
        self._posted = dict(zip(keys, (raw for _, raw in posted.messages), strict=True))
        self.ours = dict(zip(keys_of(head for head, _ in ours), ours, strict=True))
        self._theirs = dict(zip(keys_of(head for head, _ in theirs), theirs, strict=True))
        self._members = HeldMembers(reading, self._posted, beginnings)
        moving = self._moving_calls() if reading.moves_calls else {}
        self._silent = self._take_out_silent() if reading.moves_calls else {}
        self._asked = {id for head, _ in ours if head.toolCalls for id in head.calls}
        holders = {key for key, (head, _) in self.ours.items() if not moving.keys().isdisjoint(head.calls)}
        differing = [key for key in self.ours if key in holders or self._may_differ(key)]
        extra = [key for key in self._theirs if key not in self.ours]
        self._our_calls = held_calls((key, self.ours[key]) for key in differing)
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
        for key, (head, _) in self.ours.items():
            if head.role == "tool" and head.toolCallId:
                self.kept.items.setdefault(key, Item(members={})).result_of = head.toolCallId

    def _keep_results(self, keys: set[str]) -> None:
        """Keep whole the results that the client holds away from their calls."""
        for key in keys:
            ours = self.ours.get(key)
            if ours is not None and ours[0].toolCallId in self._asked and not is_cut(bytes(ours[1])):
                item = self.kept.items.setdefault(key, Item(members={}))
                item.whole, item.result_of = bytes(ours[1]), ours[0].toolCallId or ""

    def _may_differ(self, key: str) -> bool:
        theirs = self._theirs.get(key)
        return theirs is None or self._members.may_differ(key, self.ours[key][1], theirs[1])

    def _compare(self, key: str) -> None:
        ours, theirs = self.ours[key], self._theirs.get(key)
        item = Item(members={})
        held = theirs or self._silent.get(key)
        if held is not None:
            item.members = self._members.differing(
                flat_message(ours[1]), self._members.held(flat_message(held[1]), key)
            )
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
            item.members = self._members.differing(flat_call(call), self._members.held(flat_call(theirs), place))
        elif is_cut(call.raw):
            return
        else:
            item.whole = call.raw
        if item.members or item.whole or item.holder:
            self.kept.calls[id] = item

    def _add_extra(self, key: str) -> None:
        raw = self._theirs[key][1]
        if not is_cut(bytes(raw)):
            self.kept.extras[key] = digest(raw)

    def _chain(self, held: list[str]) -> None:
        """Record the order of the agent's messages, and the client's where it differs."""
        keys = [key for key in self.ours if key in self._theirs or key in self.kept.items]
        common = [key for key in keys if key in self._theirs]
        there = set(common)
        base = [key for key in held if key in there]
        # Behind an earlier one a chain is kept in any case: it says what no longer stands where it stood.
        if len(common) < len(keys) or common != base or self._before.chains:
            flags = bytes(key in self._theirs for key in keys)
            users = bytes(self.ours[key][0].role == "user" for key in keys)
            self.kept.chains.append(Chain(keys, flags, users, [] if common == base else base))


def _says_nothing(message: tuple[MessageHead, Raw]) -> bool:
    head, raw = message
    return head.role != "tool" and not JsonObject.of(bytes(raw)).get("content")
