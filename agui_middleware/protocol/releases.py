"""The releases of @ag-ui/client, and how they are ordered."""

import re
from functools import lru_cache, total_ordering
from typing import Final, Self

# npm's own notation of a version, behind the name or an operator that people put before it. Nothing longer is one.
_VERSION = re.compile(
    r"(?:@ag-ui/client[@/])?[v^~=]?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+[0-9A-Za-z.-]{1,64})?",
    re.ASCII,
)
MAX_LENGTH: Final = 192


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
        match = _VERSION.fullmatch(value.strip()) if len(value) <= MAX_LENGTH else None
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
"""The releases of @ag-ui/client that are told apart, oldest first. 1.0.1 and 1.0.2 read what 1.0.0 reads."""

UPCOMING: Final = (ClientVersion(1, 1, 0),)
"""The releases that are not out, and that some row of the downgrades ends with, oldest first. The last reads everything."""

FIRST_WITH_PROTOCOL_VERSION: Final = ClientVersion(1, 0, 0)
"""The first release that sends the version of the protocol in its input, as `protocolVersion`."""


@lru_cache(maxsize=256)
def nearest_release(version: ClientVersion) -> ClientVersion | None:
    """The release that `version` counts as: the newest one that is not newer, or the oldest there is.

    So 1.0.2 counts as 1.0.0, and a prerelease as the release before it: 1.0.0-canary.1 as 0.0.59. From the last of
    `UPCOMING` on, a client reads everything, and that is `None`.
    """
    if version >= UPCOMING[-1]:
        return None
    return max((release for release in (*RELEASES, *UPCOMING) if release <= version), default=RELEASES[0])
