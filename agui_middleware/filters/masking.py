"""Texts that come in pieces, with what matches a pattern replaced.

A match may be cut by the border of two pieces. So what could still become one is held back until it is decided: `regex`,
unlike `re`, tells where a match begins that the end of the text has cut.
"""

import json
import re
from copy import copy
from typing import Any, Final, Protocol

try:
    import regex
except ModuleNotFoundError as _missing:
    raise ModuleNotFoundError("redacting needs the extra: pip install 'agui-middleware[redact]'") from _missing

CONTEXT: Final = 64  # characters before a match that a look-behind may see

_FLAGS: Final = ("ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE")  # of `re`, and of `regex` with other values

# A JSON document as quotes, escapes (the last of which may be cut), and what stands between them.
_TOKEN: Final = re.compile(r'"|\\u[0-9a-fA-F]{4}|\\[^u]|(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?\Z)|\\|[^"\\]+', re.DOTALL)

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Mask:
    """What is replaced, by what, and how many characters may wait for a decision.

    Raises `ValueError` for a pattern that is no regular expression, or that matches the empty text.
    """

    def __init__(self, pattern: str | re.Pattern[str], replacement: str, longest: int) -> None:
        self.pattern: Any = _compile(pattern)
        self.replacement: str = replacement
        self.quoted: str = json.dumps(replacement, ensure_ascii=False)
        self.longest: int = longest

    def text(self, text: str) -> str:
        """A whole text, masked."""
        return Masker(self).finish(text)

    def document(self, text: str) -> str:
        """A whole text that may be JSON, masked; JSON stays JSON."""
        unbounded = copy(self)
        unbounded.longest = len(text)
        masker = DocumentMasker(unbounded)
        return masker.feed(text) + masker.finish()


def _compile(pattern: str | re.Pattern[str]) -> Any:
    flags = 0
    if isinstance(pattern, re.Pattern):
        flags = sum(getattr(regex, name) for name in _FLAGS if pattern.flags & getattr(re, name))
        pattern = pattern.pattern
    try:
        compiled = regex.compile(pattern, flags)
    except regex.error as error:
        raise ValueError(f"pattern is no regular expression: {error}") from error
    if compiled.fullmatch(""):
        raise ValueError(f"pattern matches the empty text: {pattern!r}")
    return compiled


class PieceMasker(Protocol):
    """One text in pieces. What `feed` and `finish` return, joined, is the masked text."""

    @property
    def held(self) -> str:
        """What is held back."""
        ...

    def feed(self, piece: str) -> str:
        """Take a piece; return what is decided."""
        ...

    def finish(self) -> str:
        """The text has ended: return the rest."""
        ...


class Masker:
    """A plain text.

    What is held back is at most `Mask.longest` characters long. A longer one is replaced although it may be no match.
    """

    __slots__ = ("_mask", "_place", "_replacement", "_text", "matches")

    def __init__(self, mask: Mask, replacement: str | None = None) -> None:
        self._mask = mask
        self._replacement = mask.replacement if replacement is None else replacement
        self._text = ""  # what is held back, behind a bit of what is not
        self._place = 0
        self.matches: int = 0

    @property
    def held(self) -> str:
        return self._text[self._place :]

    def feed(self, piece: str) -> str:
        self._text += piece
        return self._take(ended=False)

    def finish(self, last: str = "") -> str:
        self._text += last
        return self._take(ended=True)

    def _take(self, ended: bool) -> str:
        text, place, out = self._text, self._place, []
        while place < len(text):
            match = self._mask.pattern.search(text, place, partial=not ended)
            start, end = (len(text), len(text)) if match is None else match.span()
            undecided = not ended and end == len(text) and end - start <= self._mask.longest
            if undecided or start == len(text):
                out.append(text[place:start])
                place = start
                break
            if start == end:  # it matches nothing, in front of this character
                out.append(text[place : end + 1])
                place = end + 1
                continue
            out += [text[place:start], self._replacement]
            place = end
            self.matches += 1
        kept = max(place - CONTEXT, 0)
        self._text, self._place = text[kept:], place - kept
        return "".join(out)


class JsonMasker:
    """A JSON document. Each string is a text of its own, in which escapes are read.

    What matches outside of strings, a number, is replaced by a string: the document stays JSON.
    """

    __slots__ = ("_cut", "_inside", "_mask", "_masker", "_matches")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._matches = 0  # in the maskers before this one
        self._inside = False
        self._masker = Masker(mask, mask.quoted)
        self._cut = ""  # the beginning of an escape

    @property
    def held(self) -> str:
        return self._masker.held + self._cut

    def feed(self, piece: str) -> str:
        held, before = self.held, self._count()
        text, self._cut, out = self._cut + piece, "", []
        for token in _TOKEN.finditer(text):
            if token["cut"] is not None:
                self._cut = token[0]
            elif token[0] == '"':
                out += [self.finish(), '"']
                self._inside = not self._inside
                self._masker = Masker(self._mask, None if self._inside else self._mask.quoted)
            else:
                out.append(self._write(self._masker.feed(_unescape(token[0]) if self._inside else token[0])))
        unchanged = not held and not self.held and self._count() == before
        return piece if unchanged else "".join(out)

    def finish(self) -> str:
        rest = self._write(self._masker.finish()) + self._cut
        self._matches += self._masker.matches
        self._masker.matches = 0
        return rest

    def _count(self) -> int:
        return self._matches + self._masker.matches

    def _write(self, text: str) -> str:
        return _escape(text) if self._inside else text


class DocumentMasker:
    """A text that is JSON if it begins like an object or an array."""

    __slots__ = ("_mask", "_masker")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._masker: PieceMasker | None = None

    @property
    def held(self) -> str:
        return "" if self._masker is None else self._masker.held

    def feed(self, piece: str) -> str:
        if self._masker is None:
            if not piece or piece.isspace():
                return piece
            self._masker = JsonMasker(self._mask) if piece.lstrip()[0] in "{[" else Masker(self._mask)
        return self._masker.feed(piece)

    def finish(self) -> str:
        return "" if self._masker is None else self._masker.finish()


def _escape(text: str) -> str:
    """A text within JSON. A surrogate that was read alone is written as an escape, and so joins its other half again."""
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False)[1:-1])


def _unescape(token: str) -> str:
    if not token.startswith("\\") or token == "\\":
        return token
    try:
        return str(json.loads(f'"{token}"'))
    except ValueError:  # JSON has no such escape
        return token
