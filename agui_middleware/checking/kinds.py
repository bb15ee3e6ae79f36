"""Kinds of JSON values: the vocabulary of the schemas that describe what each release accepts.

A kind may differ from release to release (`Since`). `at` resolves it for one release; `fault` then finds the first
value that the release rejects. Numbers are expected as floats, which is what JavaScript makes of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from agui_middleware.protocol.releases import ClientVersion

MISSING: Final = object()
SAFE_INTEGER: Final = 2**53 - 1
FIRST_THAT_SKIPS: Final = ClientVersion(1, 0, 0)
"""From this release on, a client leaves out unknown members of a union, and the objects that require them."""


class Fault(NamedTuple):
    """One value that a release rejects."""

    path: str
    """Its path in the event, such as `messages[0].role`."""
    value: object
    """`MISSING` where a required member is absent."""
    expected: str
    """Completes the sentence "it takes ..."."""


SKIPPED: Final = Fault("", None, "")
"""Stands for a value that releases from 1.0.0 on leave out instead of rejecting it."""


class Kind:
    """One kind of values."""

    def at(self, release: ClientVersion) -> "Kind":
        """The kind as it is in `release`, without any `Since` in it."""
        return self

    def fault(self, value: object, path: str) -> Fault | None:
        """The first fault in `value`; `SKIPPED` where the release leaves it out."""
        raise NotImplementedError  # each kind has its own

    def inner(self) -> Iterator["Kind"]:
        """The kinds that this one contains."""
        return iter(())

    def versions(self) -> Iterator[ClientVersion]:
        """The releases in which the kind, or a kind that it contains, changes."""
        for kind in self.inner():
            yield from kind.versions()


@dataclass(frozen=True)
class Value(Kind):
    """A value without structure."""

    expected: str
    accepts: Callable[[Any], bool]

    def fault(self, value: object, path: str) -> Fault | None:
        return None if self.accepts(value) else Fault(path, value, self.expected)


def _is_integer(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


_POINTER = re.compile(r"(/([^/~]|~[01])*)*")

ANY: Final = Value("anything", lambda value: True)
PRESENT: Final = Value("any value", lambda value: value is not MISSING)
NOT_NULL: Final = Value("anything but null", lambda value: value is not None)
STRING: Final = Value("a string", lambda value: isinstance(value, str))
NOT_EMPTY: Final = Value("a string that is not empty", lambda value: isinstance(value, str) and value != "")
NUMBER: Final = Value("a number", lambda value: isinstance(value, float))
INTEGER: Final = Value("a safe integer", lambda value: _is_integer(value) and abs(value) <= SAFE_INTEGER)
COUNT: Final = Value("a whole number from 0 on", lambda value: _is_integer(value) and value >= 0)
SAFE_COUNT: Final = Value(
    "a whole number from 0 to 2^53 - 1", lambda value: _is_integer(value) and 0 <= value <= SAFE_INTEGER
)
BOOLEAN: Final = Value("true or false", lambda value: isinstance(value, bool))
RECORD: Final = Value("an object", lambda value: isinstance(value, dict))
POINTER: Final = Value("a JSON pointer", lambda value: isinstance(value, str) and bool(_POINTER.fullmatch(value)))


@dataclass(frozen=True)
class OneOf(Kind):
    """One of a few strings."""

    values: tuple[str, ...]

    def fault(self, value: object, path: str) -> Fault | None:
        if isinstance(value, str) and value in self.values:
            return None
        return Fault(path, value, " or ".join(map(repr, self.values)))


@dataclass(frozen=True)
class Optional(Kind):
    """A member that may be absent, and null where `or_null`."""

    kind: Kind
    or_null: bool = False

    def at(self, release: ClientVersion) -> Kind:
        return replace(self, kind=self.kind.at(release))

    def fault(self, value: object, path: str) -> Fault | None:
        if value is MISSING or (value is None and self.or_null):
            return None
        fault = self.kind.fault(value, path)
        return None if fault is SKIPPED else fault

    def inner(self) -> Iterator[Kind]:
        yield self.kind


@dataclass(frozen=True)
class ListOf(Kind):
    """A list, or a string too where `or_text`."""

    kind: Kind
    least: int = 0
    or_text: bool = False

    @property
    def expected(self) -> str:
        return ("a string or a list" if self.or_text else "a list") + (" that is not empty" if self.least else "")

    def at(self, release: ClientVersion) -> Kind:
        return replace(self, kind=self.kind.at(release))

    def fault(self, value: object, path: str) -> Fault | None:
        if self.or_text and isinstance(value, str):
            return None
        if not isinstance(value, list):
            return Fault(path, value, self.expected)
        found = [self.kind.fault(element, f"{path}[{index}]") for index, element in enumerate(value)]
        kept = [fault for fault in found if fault is not SKIPPED]
        fault = next(filter(None, kept), None)
        return Fault(path, value, self.expected) if fault is None and len(kept) < self.least else fault

    def inner(self) -> Iterator[Kind]:
        yield self.kind


@dataclass(frozen=True)
class ObjectOf(Kind):
    """An object with these members, and any others unless `closed`. At least one of `needs_one` is a string with text."""

    members: Mapping[str, Kind]
    closed: bool = False
    needs_one: tuple[str, ...] = ()

    def at(self, release: ClientVersion) -> Kind:
        settled = {name: kind.at(release) for name, kind in self.members.items()}
        return replace(self, members={name: kind for name, kind in settled.items() if kind is not ABSENT})

    def fault(self, value: object, path: str) -> Fault | None:
        if not isinstance(value, dict):
            return Fault(path, value, "an object")
        prefix = f"{path}." if path else ""
        found = [kind.fault(value.get(name, MISSING), prefix + name) for name, kind in self.members.items()]
        if SKIPPED in found:
            return SKIPPED
        unknown = [Fault(prefix + name, value[name], "no such member") for name in value if name not in self.members]
        lacks = bool(self.needs_one) and not any(value.get(name) for name in self.needs_one)
        lacking = [Fault(path, value, "one of " + ", ".join(f"`{name}`" for name in self.needs_one))] if lacks else []
        return next(filter(None, [*found, *(unknown if self.closed else []), *lacking]), None)

    def inner(self) -> Iterator[Kind]:
        yield from self.members.values()


@dataclass(frozen=True)
class Tagged(Kind):
    """An object whose kind is named by its string member `by`."""

    by: str
    kinds: Mapping[str, Kind]
    skips: bool = field(default=False, compare=False)

    def at(self, release: ClientVersion) -> Kind:
        settled = {tag: kind.at(release) for tag, kind in self.kinds.items()}
        kinds = {tag: kind for tag, kind in settled.items() if kind is not ABSENT}
        return replace(self, kinds=kinds, skips=release >= FIRST_THAT_SKIPS)

    def fault(self, value: object, path: str) -> Fault | None:
        if not isinstance(value, dict):
            return Fault(path, value, "an object")
        tag = value.get(self.by, MISSING)
        kind = self.kinds.get(tag) if isinstance(tag, str) else None
        if kind is not None:
            return kind.fault(value, path)
        return SKIPPED if self.skips else Fault(f"{path}.{self.by}", tag, " or ".join(map(repr, self.kinds)))

    def inner(self) -> Iterator[Kind]:
        yield from self.kinds.values()


ABSENT: Final = Value("", lambda value: True)
"""A member that the release does not look at, whatever its value."""


@dataclass(frozen=True)
class Since(Kind):
    """A value of `kind` from the release `version` on, and of `before` in older releases."""

    version: str
    kind: Kind
    before: Kind = ABSENT

    def at(self, release: ClientVersion) -> Kind:
        return (self.kind if release >= ClientVersion.parse(self.version) else self.before).at(release)

    def inner(self) -> Iterator[Kind]:
        yield from (self.kind, self.before)

    def versions(self) -> Iterator[ClientVersion]:
        yield ClientVersion.parse(self.version)
        yield from super().versions()
