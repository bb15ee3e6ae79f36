"""Compares streamed text with the whole text that follows it, without keeping the text."""

from hashlib import blake2b
from typing import NamedTuple

TAIL_BYTES = 2048
"""How much of the end of a text is kept, to recognise a final text that repeats only its last part."""


class Fingerprint(NamedTuple):
    """Stands for a text: its length in bytes of UTF-16, and a hash of these bytes."""

    length: int
    digest: bytes


class TextDigest:
    """A text that grows: a hash, a length and the last 1,024 characters, however long the text is.

    Lengths are counted in UTF-16, as JavaScript counts them: a token may end between the two halves of an emoji, and the
    text that repeats it later has the emoji whole.
    """

    __slots__ = ("_hash", "_length", "_tail")

    def __init__(self, text: str = "") -> None:
        self._hash = blake2b(digest_size=16)
        self._length = 0
        self._tail = b""
        self.add(text)

    def __bool__(self) -> bool:
        """Whether there is any text."""
        return self._length > 0

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(self._length, self._hash.digest())

    def add(self, text: str) -> None:
        data = to_utf16(text)
        self._hash.update(data)
        self._length += len(data)
        self._tail = (self._tail + data)[-TAIL_BYTES:]

    def rest_of(self, whole: str) -> str | None:
        """Return what follows this text in `whole`; None where `whole` does not begin with this text."""
        data = to_utf16(whole)
        if fingerprint_of(data[: self._length]) != self.fingerprint:
            return None
        return data[self._length :].decode("utf-16-le", "surrogatepass")

    def ends_with(self, text: str) -> bool:
        """Whether this text ends with `text`. Beyond the tail only a repetition of the whole text is told apart."""
        data = to_utf16(text)
        if len(data) >= self._length:
            return fingerprint_of(data) == self.fingerprint
        return self._tail.endswith(data[-TAIL_BYTES:])


def to_utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


def fingerprint_of(data: bytes) -> Fingerprint:
    """The fingerprint of a text in UTF-16."""
    return Fingerprint(len(data), blake2b(data, digest_size=16).digest())
