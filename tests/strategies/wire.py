"""Events as bytes: every way to write the same stream, and every way to cut it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hypothesis import strategies as st

from .words import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reader import Json

BOM = b"\xef\xbb\xbf"
COMMENTS = (":", ": ping", ":data: {}", ": ping - 2030-01-01 00:00:00+00:00", ":\u00e9\u2028")
FIELDS = ("id: 7", "id:", "id", "event: message", "retry: 1000", "unknown: x", "Data: x", "data2: x")
LARGEST_BYTEWISE = 4096  # more pieces than this cost a test seconds and teach it nothing
Newline = Literal["\n", "\r\n", "\r", "mixed"]


@dataclass(frozen=True)
class Style:
    """How one stream writes its JSON and its frames."""

    newline: Newline = "\n"
    separators: tuple[str, str] = (",", ":")
    indent: int | None = None  # a frame then has several data lines
    ascii: bool = True
    order: Literal["as drawn", "sorted", "reversed"] = "as drawn"
    colon: str = "data: "
    trimmings: bool = False  # comments, fields other than data, frames without data


def plain(events: Sequence[Json]) -> bytes:
    """The stream as every published client reads it: LF, one compact data line a frame."""
    return b"".join(b"data: %s\n\n" % dumped(event, Style()).encode() for event in events)


def dumped(event: Json, style: Style) -> str:
    """The event as JSON text. A lone surrogate, which has no UTF-8, is escaped whatever the style."""
    members = list(event.items())
    if style.order != "as drawn":
        members.sort(reverse=style.order == "reversed")
    separators = style.separators if style.indent is None else None
    text = json.dumps(dict(members), ensure_ascii=style.ascii, separators=separators, indent=style.indent)
    return text if _encodes(text) else dumped(event, replace(style, ascii=True))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@st.composite
def styles(draw: st.DrawFn, lf_only: bool = False) -> Style:
    newlines: tuple[Newline, ...] = ("\n", "\r\n", "\r", "mixed")
    return Style(
        newline="\n" if lf_only else draw(st.sampled_from(newlines)),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", "\t: ")])),
        indent=draw(st.sampled_from([None, None, 1])),
        ascii=draw(st.booleans()),
        order=draw(st.sampled_from(("as drawn", "sorted", "reversed"))),
        colon="data: " if lf_only else draw(st.sampled_from(("data: ", "data:"))),
        trimmings=draw(st.booleans()),
    )


@st.composite
def streams(draw: st.DrawFn, events: Sequence[Json], *, lf_only: bool = False) -> bytes:
    """Draw one serialisation of the events as server-sent events.

    They vary in JSON (spaces, escapes, order of members) and in framing: LF, CRLF, CR or all of them, comments, other
    fields, several data lines a frame, `data:` without its space, a byte order mark, a last frame without its blank line.

    Args:
        lf_only: only what the published clients themselves can read.
    """
    writer = _Writer(draw, draw(styles(lf_only)))
    for event in events:
        writer.frame(event)
    text = writer.text(unended=writer.words.below(3))
    return (BOM if writer.words.chance(6) else b"") + text.encode()


class _Writer:
    """Writes lines in one style. A line and its end are pieces of their own."""

    def __init__(self, draw: st.DrawFn, style: Style) -> None:
        self.words = Words(draw, frozenset())
        self.style = style
        self.pieces: list[str] = []

    def frame(self, event: Json) -> None:
        self._trimmings(between=True)
        for line in dumped(event, self.style).split("\n"):
            self._line(f"{self.style.colon}{line}")
        self._trimmings(between=False)
        self._newline()

    def text(self, unended: int) -> str:
        """All of it, or without the last one or two line ends."""
        return "".join(self.pieces[: len(self.pieces) - unended])

    def _trimmings(self, between: bool) -> None:
        choice = self.words.below(8) if self.style.trimmings else 0
        if choice == 5:
            self._line(self.words.pick(COMMENTS))
        elif choice == 6:
            self._line(self.words.pick(FIELDS))
        elif choice == 7 and between:
            self._line(self.words.pick(COMMENTS))
            self._newline()

    def _line(self, text: str) -> None:
        self.pieces.append(text)
        self._newline()

    def _newline(self) -> None:
        newline: str = self.style.newline
        if newline == "mixed":
            # LF right behind a bare CR would make one CRLF of two line ends.
            after_cr = bool(self.pieces) and self.pieces[-1] == "\r"
            newline = self.words.pick(("\r\n", "\r") if after_cr else ("\n", "\r\n", "\r"))
        self.pieces.append(newline)


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Draw a way to cut the data: whole, byte by byte, at line ends, or anywhere, with empty pieces among them.

    Joined, the pieces are the data.
    """
    how = draw(st.sampled_from(("whole", "anywhere", "at line ends", "byte by byte")))
    if how == "whole":
        return [data]
    if how == "byte by byte" and len(data) <= LARGEST_BYTEWISE:
        return [data[index : index + 1] for index in range(len(data))]
    places = st.integers(0, len(data))
    ends = [index for index, byte in enumerate(data) if byte in b"\r\n"]
    if how == "at line ends" and ends:
        # Before, between and behind the bytes of a line end.
        places = st.sampled_from(sorted({place for end in ends for place in (end, end + 1)}))
    chosen = sorted(draw(st.lists(places, max_size=20)))
    return [data[start:end] for start, end in zip([0, *chosen], [*chosen, len(data)], strict=True)]
