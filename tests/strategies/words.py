"""The leaves of a drawn run: texts, names, JSON values, content parts.

Values come from small pools rather than from general strategies: a run needs hundreds of them, and a pool costs one
choice each. A pool begins with the plainest value; behind it stands what readers and rewriters stumble over.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Json
    from .shapes import Shape

T = TypeVar("T")

SECRET = "SECRET"
"""What everything opaque or textual of a subagent contains in a run drawn with `secrets=True`."""

HALVES = ("\ud83d", "\ude00")
TEXTS: tuple[str | None, ...] = (  # None: any text at all
    "a",
    "",
    "Hello ",
    " wörld",
    "😀",
    'she said "no"\\',
    "one\ntwo\r\nthree\r",
    "data: x\n\ndata: y\n\n",
    "\u2028\u2029\x85",
    "\x00\x1b\x7f",
    "</script>&amp;",
    "\ufeff",
    '{"type":"RUN_FINISHED"}',
    *HALVES,
    None,
)
NAMES = ("search", "tools", "écrire", "a b", "x/y~z", "null")
ODD_IDS = ("", "0", "a b", "ü", "x::y", "constructor", "[DONE]")
NUMBERS = (0, 1, -1, 1.0, 0.5, -0.0, 2**53 + 1, -(2**63), 10**30, 1e300, 5e-324)
VALUES: tuple[Any, ...] = (
    {},
    {"a": 1},
    [],
    [1, [2, {"b": None}]],
    "text",
    "",
    0,
    False,
    True,
    None,
    2**53 + 1,
    1.0,
    {"subagentRunId": "s1", "type": "TEXT_MESSAGE_START", "messageId": "m1"},
    {"n": 12345678901234567890, "f": 1e-7, "é": "\u2028", "nested": {"list": [None, True]}},
)
FALSY: tuple[Any, ...] = (None, 0, "", False, [])
ARGUMENTS = ("{", "", '{"q":', ' "é"', "1", "}", "not json", "[]")
MEDIA = ("image", "audio", "video", "document")

_text = st.text(min_size=1, max_size=12)


@cache
def _below(limit: int) -> st.SearchStrategy[int]:
    return st.integers(0, limit - 1)


class Words:
    """Draws the leaves. `secret=True` asks for a value that contains SECRET."""

    def __init__(self, draw: st.DrawFn, without: frozenset[Shape]) -> None:
        self._draw = draw
        self._without = without

    def may(self, shape: Shape) -> bool:
        return shape not in self._without

    def below(self, limit: int) -> int:
        """An integer in [0, limit). 0 is the simplest."""
        return self._draw(_below(limit)) if limit > 1 else 0

    def pick(self, options: Sequence[T]) -> T:
        """One of them. The first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, n: int) -> bool:
        """True once in `n`. False is the simplest."""
        return self.below(n) == n - 1

    def some(self, options: Sequence[T]) -> list[T]:
        """Any of them, in order. All is the simplest."""
        mask = self.below(2 ** len(options))
        return [option for index, option in enumerate(options) if not mask >> index & 1]

    def text(self, secret: bool = False) -> str:
        text = self.delta(secret)
        return SECRET if secret and not text else text

    def delta(self, secret: bool = False) -> str:
        """A text, which is empty unless that shape is left out. There is no secret in an empty text."""
        text = self.pick(TEXTS)
        if text is None:
            text = self._draw(_text)
        elif (text == "" and not self.may("empty_deltas")) or (text in HALVES and not self.may("surrogates")):
            text = "-"
        return f"{text}{SECRET}" if secret and text else text

    def arguments(self, secret: bool = False) -> str:
        text = self.pick(ARGUMENTS)
        if text == "" and not self.may("empty_deltas"):
            text = "{"
        return f"{text}{SECRET}" if secret and text else text

    def name(self, secret: bool = False) -> str:
        return self.pick(NAMES) + (SECRET if secret else "")

    def value(self, secret: bool = False) -> Any:
        value = copy.deepcopy(self.pick(VALUES))
        return {"value": value, "hidden": [SECRET]} if secret else value

    def something(self, secret: bool = False) -> Any:
        """A value that is not null, for members that may be absent but not null."""
        value = self.value(secret)
        return "not null" if value is None else value

    def get_object(self, secret: bool = False) -> Json:
        content = {self.pick(("a", "b", "é/~")): self.value(secret)} if self.chance(2) else {}
        return content or ({"a": SECRET} if secret else {"b": self.pick(NUMBERS)})

    def metadata(self, secret: bool = False) -> Json:
        return {self.pick(("trace", "source", "model")): self.value(secret)}

    def content(self, secret: bool = False, parts: bool = True) -> str | list[Json]:
        """What a user or a tool says: a text, or a list of parts."""
        if not parts or self.below(3) < 2:
            return self.text(secret)
        return [self.part(secret) for _ in range(1 + self.below(3))]

    def part(self, secret: bool = False) -> Json:
        kind = self.pick(("text", *MEDIA)) if self.may("media_parts") else "text"
        part: Json = {"type": kind}
        if kind == "text":
            part["text"] = self.text(secret)
        else:
            part["source"] = self._source(secret)
        if self.chance(4):
            part["id"] = self.name(secret)
        if self.chance(4):
            part["metadata"] = self.something(secret)
        return part

    def _source(self, secret: bool) -> Json:
        kinds = ("data", "url", "file") if self.may("file_sources") else ("data", "url")
        kind = self.pick(kinds)
        hidden = SECRET if secret else ""
        source = {"type": kind, "value": {"data": "aGk=", "url": "https://example.com/x?y", "file": "file-1"}[kind]}
        source["value"] += hidden
        if kind == "data" or self.chance(2):
            source["mimeType"] = self.pick(("image/png", "application/pdf")) + hidden
        if kind == "file" and self.chance(2):
            source["provider"] = "openai" + hidden
        return source

    def usage(self) -> list[Json]:
        usage: Json = {"inputTokens": self.pick((1, 0, 2**53 - 1)), "outputTokens": 2, "totalTokens": 3}
        usage |= self.pick(({}, {"provider": "p", "model": "m"}, {"reasoningTokens": 0, "cacheWriteInputTokens": 5}))
        return [usage]
