"""Flattens JSON that is nested deeper than Python's parsers can go, which browsers read at any depth."""

import re
from typing import Final

DEEPEST: Final = 100
"""The levels that are kept. No schema of an event looks deeper than ten, and each level takes a frame of the interpreter."""

_TOKEN: Final = re.compile(rb'[\[{\]}]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


def shallow(data: bytes) -> bytes:
    """The JSON with every object and list below `DEEPEST` levels emptied. Brackets that are not balanced stay so."""
    kept, depth, at = [], 0, 0
    for token in _TOKEN.finditer(data):
        bracket = token[0]
        if bracket in b"[{":
            if depth == DEEPEST:
                kept.append(data[at : token.end()])
            depth += 1
        elif bracket in b"]}":
            depth -= 1
            if depth == DEEPEST:
                at = token.start()
    kept.append(data[at:] if depth <= DEEPEST else b"")
    return b"".join(kept)
