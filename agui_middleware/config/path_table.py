"""Finds the routes that take a path, among any number of them, at the cost of the path's segments."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from starlette.convertors import PathConvertor
from starlette.routing import compile_path

_PARAMETER = re.compile(r"{\w+(?::(\w+))?}")
_ONE_SEGMENT: Final = frozenset({"str", "int", "float", "uuid"})
"""The convertors of Starlette that take no slash. Any other may take several segments."""


def takes_any_depth(path: str) -> bool:
    """Whether a path has a parameter that takes slashes. Raises what Starlette raises where the path is malformed."""
    return any(isinstance(convertor, PathConvertor) for convertor in compile_path(path)[2].values())


class _Node:
    """A segment of a path, by the segments before it."""

    __slots__ = ("ends", "literals", "parameter", "rests")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.ends: list[int] = []  # the routes that end here
        self.rests: list[int] = []  # the routes that may take any number of segments from here on

    def below(self, segment: str) -> "_Node":
        if "{" not in segment:
            return self.literals.setdefault(segment, _Node())
        self.parameter = self.parameter or _Node()
        return self.parameter


class PathTable:
    """Paths in Starlette's syntax, by number. A parameter also takes line ends, unlike Starlette's `{rest:path}`.

    `spelled`: what is looked up is `normalised`, and letters match in either case.
    """

    def __init__(self, paths: Iterable[tuple[int, str]], *, spelled: bool = False) -> None:
        self._root = _Node()
        self._patterns: dict[int, re.Pattern[str]] = {}
        self._literals: dict[str, list[int]] = {}
        for number, path in paths:
            path = (path.rstrip("/") or "/") if spelled else path
            if "{" in path:
                flags = re.DOTALL | re.IGNORECASE if spelled else re.DOTALL
                self._patterns[number] = re.compile(_expression(path), flags)
                self._add(path.split("/")[1:], number, spelled)
            else:
                self._literals.setdefault(path.lower() if spelled else path, []).append(number)

    def _add(self, segments: Sequence[str], number: int, spelled: bool) -> None:
        node = self._root
        for segment in segments:
            if any((kind or "str") not in _ONE_SEGMENT for kind in _PARAMETER.findall(segment)):
                node.rests.append(number)
                return
            node = node.below(segment.lower() if spelled else segment)
        node.ends.append(number)

    def find(self, path: str) -> list[int]:
        """The numbers of the paths that take `path`, in order."""
        literals = self._literals.get(path, [])
        if not self._patterns:
            return literals
        found = [number for number in self._candidates(path) if self._patterns[number].fullmatch(path)]
        return sorted(literals + found)

    def _candidates(self, path: str) -> list[int]:
        found: list[int] = []
        nodes = [self._root]
        for segment in path.split("/")[1:]:
            below: list[_Node] = []
            for node in nodes:
                found += node.rests
                if (literal := node.literals.get(segment)) is not None:
                    below.append(literal)
                if node.parameter is not None:
                    below.append(node.parameter)
            nodes = below
            if not nodes:
                break
        for node in nodes:
            found += node.ends
        return found


def _expression(path: str) -> str:
    """Starlette's regular expression of a path, without names and anchors."""
    pattern = compile_path(path)[0].pattern
    return re.sub(r"\(\?P<\w+>", "(?:", pattern.removeprefix("^").removesuffix("$"))
