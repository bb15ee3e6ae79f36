"""What names a client: a release of @ag-ui/client, or another SDK and its version.

An SDK is advertised by its package's name and version, as `@tanstack/ai-client@0.33.2`, `ag_ui/0.2.0` or
`com.ag-ui.community:kotlin-client:0.4.1`. A version that the table of SDKs does not list counts as the newest listed one
that is not newer, as for @ag-ui/client; one that is older than all of them as the oldest.
"""

import re
from functools import lru_cache
from typing import Final

from agui_middleware.config.readers import Reader
from agui_middleware.config.sdks import SDKS
from agui_middleware.protocol.releases import MAX_LENGTH, ClientVersion, nearest_release

# The name goes as far as the first separator behind which nothing but a version follows: names hold `/`, `:` and `@` too.
# Versions are npm's, with one to four numbers, since NuGet and Swift packages are named with two.
_ADVERTISED: Final = re.compile(
    r"(?P<name>\S{1,128}?)[@/:]v?(?P<major>\d{1,9})(?:\.(?P<minor>\d{1,9}))?(?:\.(?P<patch>\d{1,9}))?(?:\.\d{1,9})?"
    r"(?:-(?P<prerelease>[0-9A-Za-z.-]{1,64}))?(?:\+[0-9A-Za-z.-]{1,64})?",
    re.ASCII,
)
_BY_NAME: Final = {name.casefold(): sdk for sdk in SDKS for name in sdk.names}
_BY_PRODUCT: Final = {sdk.user_agent.casefold(): sdk for sdk in SDKS if sdk.user_agent}


class UnknownClient(ValueError):
    """A value names neither a release of @ag-ui/client nor a known SDK."""


class RefusedClient(ValueError):
    """A value names an SDK that no downgrade serves; the message says why."""


def parse_client(value: str) -> ClientVersion | Reader:
    """The release of @ag-ui/client or the reader that `value` names.

    Raises `UnknownClient` where it names neither, and `RefusedClient` where it names an SDK that is refused.
    """
    try:
        return ClientVersion.parse(value)
    except ValueError:
        reader = _reader(value.strip())
    if reader is None:
        raise UnknownClient(f"{value[:80]!r} is neither a release of @ag-ui/client nor the version of a known SDK")
    if reader.refused:
        raise RefusedClient(f"{reader} {reader.refused}")
    return reader


def counts_as(client: ClientVersion | Reader | None) -> ClientVersion | Reader | None:
    """The known release that a release counts as; a reader is known already."""
    return nearest_release(client) if isinstance(client, ClientVersion) else client


def _reader(value: str) -> Reader | None:
    named = _split(value)
    sdk = None if named is None else _BY_NAME.get(named[0])
    return None if named is None or sdk is None else sdk.reader(named[1])


@lru_cache(maxsize=256)
def from_user_agent(value: str) -> Reader | None:
    """The reader that a `User-Agent` header names: the first product in it that is an SDK's own."""
    for named in map(_split, value.split()):
        sdk = None if named is None else _BY_PRODUCT.get(named[0])
        if named is not None and sdk is not None:
            return sdk.reader(named[1])
    return None


def _split(value: str) -> tuple[str, ClientVersion] | None:
    """The name, case-folded, and the version of `NAME@VERSION`."""
    match = _ADVERTISED.fullmatch(value) if len(value) <= MAX_LENGTH else None
    if match is None:
        return None
    major, minor, patch = (int(match[part] or 0) for part in ("major", "minor", "patch"))
    return match["name"].casefold(), ClientVersion(major, minor, patch, match["prerelease"] or "")
