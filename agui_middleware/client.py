"""Which release of @ag-ui/client reads a response, and how a request tells it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, total_ordering
from typing import Any, Final, Self
from urllib.parse import parse_qsl

import msgspec

# npm's own notation of a version, behind the name or an operator that people put before it. Nothing longer is one.
_VERSION = re.compile(
    r"(?:@ag-ui/client[@/])?[v^~=]?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+[0-9A-Za-z.-]{1,64})?",
    re.ASCII,
)
_MAX_LENGTH = 192
_PROTOCOL_VERSION = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)


@total_ordering
class ClientVersion:
    """A release of @ag-ui/client, ordered as npm orders releases (https://semver.org, item 11).

    0.0.100 is newer than 0.0.59, and 0.0.59-canary.3 is older than 0.0.59. Immutable and hashable.
    """

    __slots__ = ("_key", "_text")

    def __init__(self, major: int, minor: int, patch: int, prerelease: str = "") -> None:
        self._text = f"{major}.{minor}.{patch}" + (f"-{prerelease}" if prerelease else "")
        # A release is newer than its prereleases; numeric identifiers are older than others, and compare as numbers.
        identifiers = [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in prerelease.split(".")]
        self._key = ((major, minor, patch), not prerelease, identifiers if prerelease else [])

    @classmethod
    def parse(cls, value: str) -> Self:
        """Read `0.0.58`, `v0.0.58`, `^0.0.58`, `@ag-ui/client@0.0.58`, `@ag-ui/client/0.0.58`, prereleases included.

        Raises `ValueError` for anything else.
        """
        match = _VERSION.fullmatch(value.strip()) if len(value) <= _MAX_LENGTH else None
        if match is None:
            raise ValueError(f"{value[:40]!r} is no release of @ag-ui/client; write it as 0.0.58")
        major, minor, patch, prerelease = match.groups()
        return cls(int(major), int(minor), int(patch), prerelease or "")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientVersion) and self._key == other._key

    def __lt__(self, other: "ClientVersion") -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"ClientVersion.parse({self._text!r})"


RELEASES: Final = (*(ClientVersion(0, 0, patch) for patch in (27, 28, 30, *range(34, 60))), ClientVersion(1, 0, 0))
"""The releases of @ag-ui/client that npm installs, oldest first."""


FIRST_WITH_PROTOCOL_VERSION: Final = ClientVersion(1, 0, 0)
"""The first release that says in its input which version of the protocol it speaks."""


def known(version: ClientVersion) -> ClientVersion | None:
    """The release that `version` counts as: the newest known one that is not newer, or the oldest there is.

    One that is newer than every known release counts as current, `None`: it reads everything.
    """
    if version > RELEASES[-1]:
        return None
    return max((release for release in RELEASES if release <= version), default=RELEASES[0])


def advertised(headers: Iterable[tuple[bytes, bytes]], query: bytes, names: Sequence[str]) -> Iterator[list[str]]:
    """What the request says under each of `names` that it carries, in its headers and then in its query.

    One entry for each time that it says so. A query parameter needs no CORS preflight, unlike a header.
    """
    if headers:
        fields = [(name.decode("latin-1").lower(), value) for name, value in headers]
        for name in names:
            if values := [value.decode("latin-1") for key, value in fields if key == name.lower()]:
                yield values
    if query:
        parameters = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        for name in names:
            if values := [value for key, value in parameters if key.lower() == name.lower()]:
                yield values


class _Input(msgspec.Struct, gc=False):
    protocolVersion: Any = None


_decode_input = msgspec.json.Decoder(_Input).decode


def from_body(body: bytes) -> ClientVersion | None:
    """The oldest release that speaks the `protocolVersion` of a posted RunAgentInput, if it names one.

    A protocol version and a release are different axes: protocol 1.0 came with release 1.0.0, and no release before it
    sends a protocol version. Its absence proves nothing.
    """
    try:
        version = _decode_input(body).protocolVersion
    except (msgspec.DecodeError, ValueError, RecursionError):  # the first is a `ValueError` since 0.21
        return None
    match = _PROTOCOL_VERSION.fullmatch(version) if isinstance(version, str) else None
    return ClientVersion(int(match[1]), int(match[2]), 0) if match else None


def parse_advertised(values: Sequence[str]) -> ClientVersion | None:
    """One value that names a release; anything else, or more than one, counts as absent."""
    return _parsed(values[0]) if len(values) == 1 and len(values[0]) <= _MAX_LENGTH else None


@lru_cache(maxsize=256)
def _parsed(value: str) -> ClientVersion | None:
    try:
        return ClientVersion.parse(value)
    except ValueError:
        return None
