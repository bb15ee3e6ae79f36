"""Which members of its messages and calls a client holds, and in which its copy differs from the agent's."""

from collections.abc import Mapping
from typing import Final

from msgspec import Raw

from agui_middleware.history.beginnings import Beginnings, cut, is_cut
from agui_middleware.history.record import Member
from agui_middleware.history.values import Flat, as_bytes, same, text_of
from agui_middleware.protocol.json_object import JsonObject, encode
from agui_middleware.protocol.reading import Reading

_TEXTS: Final = ("content", "function.arguments")
"""The members of which the beginning may be left out, see `beginnings`."""


class HeldMembers:
    """Compares messages, and calls in them, member by member, as a client of one `reading` holds them.

    `posted` are the messages that it has posted, by key: what it has posted itself, it holds.
    """

    __slots__ = ("_beginnings", "_posted", "_reading")

    def __init__(self, reading: Reading, posted: Mapping[str, Raw], beginnings: Beginnings) -> None:
        self._reading = reading
        self._posted = posted
        self._beginnings = beginnings

    def may_differ(self, key: str, ours: Raw, theirs: Raw) -> bool:
        """Whether a look at the bytes of a message cannot tell that the client holds all of the agent's."""
        if not (ours is theirs or bytes(ours) == bytes(theirs)):
            return True
        names = self._stripped(key)
        if not self._reading.part_members and bytes(self._posted.get(key, b"")) != bytes(theirs):
            names.append("content")
        return any(bytes(theirs).find(f'"{name}"'.encode()) >= 0 for name in names)

    def held(self, members: Flat, key: str) -> Flat:
        """Return the members of the message `key`, or of a call in it, that the client keeps."""
        stripped = self._stripped(key)
        kept = {name: value for name, value in members.items() if name not in stripped}
        content = as_bytes(kept.get("content"))
        posted = bytes(self._posted.get(key, b""))
        if self._reading.part_members or content[:1] != b"[" or posted.find(content) >= 0:
            return kept
        parts = JsonObject.of(b'{"v":%b}' % content).get_list("v") or []
        return kept | {"content": [_part_as_held(part) if isinstance(part, JsonObject) else part for part in parts]}

    def differing(self, ours: Flat, theirs: Flat) -> dict[str, Member]:
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

    def _stripped(self, key: str) -> list[str]:
        """Return the members that the client strips from a message, except those that it has posted itself."""
        posted = bytes(self._posted.get(key, b""))
        return [name for name in self._reading.strips if posted.find(f'"{name}"'.encode()) < 0]


def _part_as_held(part: JsonObject) -> JsonObject:
    type = part.get("type")
    if type == "binary":
        return part
    return part.without("id", "metadata") if type == "text" else part.without("id")
