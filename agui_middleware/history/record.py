"""What is kept of a thread between two requests: what its clients could not be given, and where it stood.

A record holds differences only: of each message and call the members in which the client's copy differs from the agent's,
whole messages and calls where the client has none, and the order of messages where that matters. It is bytes in a store.
"""

import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from agui_middleware.protocol.posted import MessageHead

T = TypeVar("T")

VERSION: Final = 1
"""The version of the format: a record of another one counts as none."""
MAX_CHAINS: Final = 8
MAX_BASES: Final = 4
ABSENT: Final = b""
_SAME_MOMENT: Final = (1 << 14) - 1  # 16 µs


class Member(msgspec.Struct, array_like=True, omit_defaults=True):
    """One member of a message or call, as JSON; `ABSENT` where there is none."""

    canonical: bytes
    bases: list[bytes]
    """What clients hold in its place."""
    beginning: bytes = b""
    """Where both are the ends of a text whose beginning is the same, and is not kept: the digest of that."""


class Item(msgspec.Struct, array_like=True, omit_defaults=True):
    """What a client's copy of a message, or of a call, lacks. One without members and all says that it lacks nothing."""

    members: dict[str, Member] = {}
    whole: bytes = ABSENT
    """The message or call, of which the client has none; without the calls that the client holds elsewhere."""
    holder: str = ""
    """Of a call, the message that holds it, where the client holds it in another one or not at all."""
    calls: list[str] = []
    """Of a message, the order of its calls, where the client holds some elsewhere or not at all."""
    result_of: str = ""
    """Of a tool message that the client has not, or posts under an id of its own, the call that it answers."""

    @property
    def says(self) -> tuple[object, ...]:
        """What the agent has said, without what clients hold in its place."""
        members = {name: (member.canonical, member.beginning) for name, member in self.members.items()}
        return members, self.whole, self.holder, self.calls, self.result_of


_NOTHING: Final = Item()


class Chain(msgspec.Struct, array_like=True, omit_defaults=True):
    """The order of the messages of a conversation of which the client does not hold all, or holds them in another order."""

    keys: list[str]
    held: bytes
    """A byte for each message, 1 where the client holds it."""
    users: bytes
    """A byte for each message, 1 where it is a user's."""
    base: list[str] = []
    """The order in which the client holds them, where that is another one."""
    stamp: int = 0
    """When its turn began, see `next_stamp`."""
    seen: list[int] = []
    """The stamps of the chains that were read for its turn. Of these it has the say; any other keeps its own."""
    question: str = ""
    """The user's message that its turn has answered, where one was posted last."""

    @property
    def missing(self) -> set[str]:
        """The messages that the client does not hold."""
        return {key for key, held in zip(self.keys, self.held, strict=True) if not held}


class Kept(msgspec.Struct, array_like=True):
    """The record of one thread. The newest items, calls and extras stand last, the newest chain first."""

    version: int = VERSION
    items: dict[str, Item] = {}
    """By message key, see `key_of`."""
    calls: dict[str, Item] = {}
    """By call id."""
    extras: dict[str, bytes] = {}
    """Messages that the agent has not said and clients hold, with a digest each: what a filter adds."""
    chains: list[Chain] = []

    @staticmethod
    def read(data: bytes) -> "Kept | None":
        """Decode a record; `None` if it is broken or of another version."""
        try:
            kept = _decode(data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None
        chained = all(len(chain.keys) == len(chain.held) == len(chain.users) for chain in kept.chains)
        return kept if kept.version == VERSION and chained else None

    def to_bytes(self, limit: int | None = None) -> bytes:
        """Encode the record in at most `limit` bytes; the oldest parts are dropped first.

        An id with half of a surrogate pair has no UTF-8, and so no MessagePack: what it names is not kept.
        """
        try:
            data = _encode(self)
        except UnicodeEncodeError:
            return self._encodable().to_bytes(limit)
        if limit is None or len(data) <= limit:
            return data
        return _encode(self._within(limit))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to restore."""
        return not (self.items or self.calls or self.extras or self.chains)

    def known_to(self, chain: Chain) -> set[str]:
        """The messages of which later turns have the say: those of turns that have read this chain."""
        return {key for other in self.chains if chain.stamp in other.seen for key in other.keys}

    def answered_beside(self, chain: Chain) -> set[str]:
        """The questions that later turns have answered without having read this chain: its own answer was dropped."""
        beside = (other for other in self.chains if chain.stamp not in other.seen)
        return {other.question for other in beside if other.stamp > chain.stamp}

    def merged(self, newer: "Kept", read: "Kept | None" = None) -> "Kept":
        """This record with that of a later response, or of one that ran beside it: what both have is the newer's.

        `read` is the record that the newer response began with. What that response has left as it was there is this
        record's: another response may have changed it meanwhile.
        """
        read = read or Kept()
        items = _united(self.items, newer.items, read.items)
        calls = _united(self.calls, newer.calls, read.calls)
        extras = {key: digest for key, digest in self.extras.items() if key not in newer.items} | newer.extras
        return Kept(VERSION, items, calls, extras, _chains(newer.chains, self.chains))

    def _encodable(self) -> "Kept":
        items, calls, extras = _encodable(self.items), _encodable(self.calls), _encodable(self.extras)
        return Kept(VERSION, items, calls, extras, [chain for chain in self.chains if _encodable({"": chain})])

    def _within(self, limit: int) -> "Kept":
        """Return the newest part that fits. Chains are few and short; items are what grows."""
        chains: list[Chain] = []
        left = limit - len(_encode(Kept()))
        for chain in self.chains:
            size = len(_encode(chain))
            if size > (limit // 8 if chains else left):
                break
            chains.append(chain)
            left -= size
        parts: list[dict[str, Item]] = []
        for whole in (self.items, self.calls):
            part: dict[str, Item] = {}
            for key, item in reversed(whole.items()):
                left -= len(_encode((key, item))) + 8
                if left < 0:
                    break
                part[key] = item
            parts.append(dict(reversed(part.items())))
        items, calls = parts
        return Kept(VERSION, items, calls, {} if left < 0 else self._extras_within(left), chains)

    def _extras_within(self, left: int) -> dict[str, bytes]:
        part: dict[str, bytes] = {}
        for key, digest in reversed(self.extras.items()):
            left -= len(_encode((key, digest))) + 8
            if left < 0:
                break
            part[key] = digest
        return dict(reversed(part.items()))


def key_of(head: MessageHead) -> str:
    """What identifies a message in a conversation: its id, and of a result the call too, since agents use ids again."""
    id = head.id or ""
    return f"{id}\0{head.toolCallId}" if head.role == "tool" and head.toolCallId else id


def keys_of(heads: Iterable[MessageHead]) -> list[str]:
    """Return the keys of the messages of a conversation, all different."""
    keys = [key_of(head) for head in heads]
    return keys if len(set(keys)) == len(keys) else _numbered(keys)


def _numbered(keys: list[str]) -> list[str]:
    """Return the keys with a number behind each that stands before already."""
    seen: dict[str, int] = {}
    numbered = []
    for key in keys:
        count = seen[key] = seen.get(key, 0) + 1
        numbered.append(key if count == 1 else f"{key}\0\0{count}")
    return numbered


def _encodable(entries: dict[str, T]) -> dict[str, T]:
    kept: dict[str, T] = {}
    for entry in entries.items():
        with suppress(UnicodeEncodeError):
            _encode(entry)
            kept.update([entry])
    return kept


def next_stamp(seen: Iterable[int]) -> int:
    """A stamp for a turn that begins: later than all that it has read, also where the clocks of two machines differ.

    Nanoseconds, of which the last 14 bits are random: they tell turns apart that begin in the same moment.
    """
    now = time.time_ns() | _SAME_MOMENT
    return max(now, max(seen, default=0) | _SAME_MOMENT) + 1 + secrets.randbits(13)


def _united(older: dict[str, Item], newer: dict[str, Item], read: dict[str, Item]) -> dict[str, Item]:
    united = {key: item for key, item in older.items() if key not in newer}
    for key, item in newer.items():
        known, before = older.get(key), read.get(key)
        if known is None:
            united[key] = item
        elif before is not None and item.says == before.says != known.says:
            united[key] = known
        else:
            united[key] = _with_bases(item, known)
    return {key: item for key, item in united.items() if item != _NOTHING}


def _with_bases(item: Item, known: Item) -> Item:
    """Return the item with the values that earlier clients hold."""
    members = dict(item.members)
    for name, member in item.members.items():
        before = known.members.get(name)
        if before is not None and before.canonical == member.canonical and before.beginning == member.beginning:
            bases = [*member.bases, *(base for base in before.bases if base not in member.bases)][:MAX_BASES]
            members[name] = Member(member.canonical, bases, member.beginning)
    return msgspec.structs.replace(item, members=members)


def _chains(newer: list[Chain], older: list[Chain]) -> list[Chain]:
    """Those that no newer one has read, and of the others those that still say where something stood.

    The turn that began last counts as the newest, also where an earlier one has ended later.
    """
    chains: list[Chain] = []
    placed: set[str] = set()
    read: set[int] = set()
    for chain in sorted([*newer, *older], key=lambda chain: -chain.stamp):
        if chain.stamp not in read or chain.missing - placed:
            chains.append(chain)
            placed |= chain.missing
            read.update(chain.seen)
    return chains[:MAX_CHAINS]


_decode = msgspec.msgpack.Decoder(Kept).decode
_encode = msgspec.msgpack.Encoder().encode
