"""JSON that every client reads and msgspec rejects: lone surrogate escapes, and nesting past the recursion limit.

A token cut between the halves of an emoji leaves `"\\ud83d"` in a delta; `JSON.parse` accepts it and msgspec does not. Both
cases are rare, so this module trades speed for tolerance: it finds where each member of one object, or each element of one
array, begins and ends, and keeps it as bytes. It rejects whatever `JSON.parse` rejects, including NaN and Infinity. Past the
recursion limit it checks only that brackets are balanced, and that there are at most `MOST_BRACKETS`.
"""

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # CPython's own, absent from typeshed
from json.scanner import make_scanner
from math import isfinite
from typing import Any, Final, NoReturn

from msgspec import Raw

MOST_BRACKETS: Final = 20_000
"""The most brackets that JSON nested past the recursion limit may open: balancing them takes a hundred times as long."""

_SPACE = re.compile(r"[ \t\n\r]*")
# An unclosed string matches up to the end of the data: retrying at each of its quotes would take quadratic time.
_BRACKET = re.compile(r'[\[{]|[\]}]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


def members(data: bytes) -> dict[str, bytes]:
    """The members of a JSON object as raw bytes, by decoded name; the last of equal names wins, as in every client.

    Raises `ValueError` where `data` is not one well-formed object.
    """
    return dict(_members(data))


def names(data: bytes) -> list[str]:
    """The names of the members of a JSON object, decoded, each as often as it is there. Raises as `members` does."""
    return [name for name, _ in _members(data)]


def elements(data: bytes) -> list[bytes]:
    """The elements of a JSON array as raw bytes. Raises `ValueError` where `data` is not one well-formed array."""
    return [data[start:end] for start, end in _values(data.decode("latin-1"), "[", "]", _no_key)]


def loads(data: bytes) -> Any:
    """Decode one value. Invalid UTF-8 becomes U+FFFD, as in a browser.

    A number that Python cannot hold, of more than 4,300 digits or beyond a double, stays undecoded, as `msgspec.Raw`.
    Raises `ValueError` if it is malformed, `RecursionError` if it is nested past the interpreter's limit.
    """
    text = data.decode("utf-8", "replace")
    return json.loads(text, parse_constant=_refuse, parse_int=_int, parse_float=_float)


def _int(digits: str) -> int | Raw:
    try:
        return int(digits)
    except ValueError:  # https://docs.python.org/3/library/stdtypes.html#integer-string-conversion-length-limitation
        return Raw(digits.encode())


def _float(digits: str) -> float | Raw:
    value = float(digits)
    return value if isfinite(value) else Raw(digits.encode())


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# The scanner runs over latin-1 text, in which an index is a byte offset. Decoded values are discarded; a number is decoded
# to its length, since `int` refuses long ones.
_scan = make_scanner(
    json.JSONDecoder(parse_constant=_refuse, parse_int=len, parse_float=len)  # type: ignore[arg-type]  # typeshed is wrong
)


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    keys: list[str] = []

    def key(text: str, at: int) -> int:
        if text[at : at + 1] != '"':
            raise ValueError(f"expected a member name at byte {at}")
        name, end = scanstring(text, at + 1, True)
        keys.append(name if name.isascii() else loads(data[at:end]))
        colon = _skip(text, end)
        if text[colon : colon + 1] != ":":
            raise ValueError(f"expected a colon at byte {colon}")
        return _skip(text, colon + 1)

    for start, end in _values(data.decode("latin-1"), "{", "}", key):
        yield keys[-1], data[start:end]


def _no_key(_: str, at: int) -> int:
    return at


def _values(text: str, opening: str, closing: str, key: Any) -> Iterator[tuple[int, int]]:
    at = _skip(text, 0)
    if text[at : at + 1] != opening:
        raise ValueError(f"expected {opening} at byte {at}")
    at = _skip(text, at + 1)
    more = text[at : at + 1] != closing
    while more:
        start = key(text, at)
        end = _value_end(text, start)
        yield start, end
        at = _skip(text, end)
        more = text[at : at + 1] == ","
        if more:
            at = _skip(text, at + 1)
    if text[at : at + 1] != closing or _skip(text, at + 1) != len(text):
        raise ValueError(f"expected {closing} and the end at byte {at}")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # the pattern matches the empty string
    return match.end()


def _value_end(text: str, at: int) -> int:
    try:
        end: int = _scan(text, at)[1]
        return end
    except StopIteration:
        raise ValueError(f"expected a value at byte {at}") from None
    except RecursionError:
        if text.count("[") + text.count("{") > MOST_BRACKETS:
            raise ValueError(f"more than {MOST_BRACKETS} brackets, nested past the interpreter's limit") from None
        return _balanced_end(text, at)


def _balanced_end(text: str, at: int) -> int:
    depth = 0
    for match in _BRACKET.finditer(text, at):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(match.group(), 0)
        if depth == 0:
            return match.end()
    raise ValueError(f"brackets opened at byte {at} are not closed")
