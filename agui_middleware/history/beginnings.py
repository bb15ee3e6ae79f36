"""What is left out of texts, as digests: whether a client still has the beginning of a text that it posts.

A record keeps a text from where the client's differs. Where only its end was taken away, nothing else tells a text that the
user has edited, and that stays, from one that is to get its end back.
"""

import secrets
from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

import msgspec

from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.json_object import UNDECODABLE

_NONCE: Final = secrets.token_hex(8)  # no agent writes a mark of ours
_START: Final = f"\ue000{_NONCE}:"
_END: Final = "\ue000"


class _Token(msgspec.Struct, gc=False):
    delta: str | None = None


_decode_token = msgspec.json.Decoder(_Token).decode


def delta_in(token: bytes) -> str | None:
    """What a token appends; `None` where that is no text."""
    try:
        return _decode_token(token).delta
    except UNDECODABLE:  # half of a surrogate pair, or no text
        with suppress(MalformedEvent):
            delta = Event.parse(token).get("delta")
            return delta if isinstance(delta, str) else None
        return None


def digest_of(text: str) -> bytes:
    """The digest of the beginning of a text."""
    return blake2b(_utf8(text), digest_size=8).digest()


def is_cut(raw: bytes) -> bool:
    """Whether something is left out of a message."""
    return raw.find(_NONCE.encode()) >= 0


class Cut(NamedTuple):
    """The ends of two texts behind what is left out of both."""

    canonical: str
    base: str
    mark: str
    """What stands for the rest; empty where nothing is left out."""


def cut(canonical: str, base: str) -> Cut | None:
    """What stands in two texts behind their marks. `None`: they cannot be compared."""
    ours, theirs = canonical.rpartition(_START), base.rpartition(_START)
    if not (ours[1] or theirs[1]):
        return Cut(canonical, base, "")
    (our_mark, _, our_tail), (their_mark, _, their_tail) = ours[2].partition(_END), theirs[2].partition(_END)
    comparable = ours[1] and theirs[1] and our_mark == their_mark
    return Cut(our_tail, their_tail, f"{_START}{our_mark}{_END}") if comparable else None


class Beginnings:
    """The beginnings of the texts of one response, by the marks that stand for them.

    The tokens of a text are kept as they came until `fold` digests them: parsing each as it passes would cost more than all
    else that is done with it, and few texts are cut.
    """

    def __init__(self) -> None:
        self._texts: dict[str, tuple[blake2b, list[bytes]]] = {}

    def new(self, text: str) -> str:
        """A mark for what is left out behind `text`."""
        mark = f"{_START}{len(self._texts)}{_END}"
        self._texts[mark] = blake2b(_utf8(text), digest_size=8), []
        return mark

    def tokens(self, mark: str) -> list[bytes]:
        """The tokens that are not digested yet, as JSON; what else is left out is to be appended."""
        return self._texts[mark][1]

    def digest(self, mark: str) -> bytes:
        """The digest of all that is left out, and of what stands before that."""
        return self._folded(mark).digest()

    def fold(self) -> int:
        """Digest all tokens, and forget them; returns how many marks were looked at."""
        for mark in self._texts:
            self._folded(mark)
        return len(self._texts)

    def _folded(self, mark: str) -> blake2b:
        digest, tokens = self._texts[mark]
        if tokens:
            digest.update(b"".join(_utf8(delta_in(token) or "") for token in tokens))
            tokens.clear()
        return digest


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
