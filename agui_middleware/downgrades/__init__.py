"""What an old client cannot read: one feature, one file, one row of `DOWNGRADES`.

A downgrade is a filter that takes one feature of AG-UI out of a stream, or puts it into a form that older releases of
@ag-ui/client read. It never changes how a run ends, an id or the order of events, repairs a malformed value, or invents a
value that is not empty, the ids of messages apart that have none of their own (`thinking`, `call-parents`): these are the
duties that AG-UI's page on versioning gives a translator.
"""

from collections.abc import Collection
from functools import lru_cache

from agui_middleware.downgrades.downgrade import Difference, Downgrade
from agui_middleware.downgrades.guard import TOLERANT, guard
from agui_middleware.downgrades.sdk import SDK_ROWS, SdkRow
from agui_middleware.downgrades.table import BEFORE_VISIBILITY, DOWNGRADES, SUBAGENTS
from agui_middleware.filters.contract import Filter
from agui_middleware.protocol.releases import ClientVersion

__all__ = [
    "DOWNGRADES",
    "SDK_ROWS",
    "SUBAGENTS",
    "Difference",
    "Downgrade",
    "SdkRow",
    "build_pipeline",
    "downgrades_for",
    "sdk_rows",
]


@lru_cache(maxsize=512)
def downgrades_for(
    client: ClientVersion | None, also: tuple[str, ...] = (), spared: tuple[str, ...] = ()
) -> tuple[Downgrade, ...]:
    """The rows that `client` needs, without those named in `spared`, and those named in `also`, in order.

    `None` is a client that reads everything: only those in `also`.
    """
    parse = ClientVersion.parse
    return tuple(
        row
        for row in DOWNGRADES
        if row.name in also
        or (client is not None and row.name not in spared and parse(row.broken_since) <= client < parse(row.fixed_in))
    )


def sdk_rows(names: Collection[str]) -> tuple[SdkRow, ...]:
    """The rows of `SDK_ROWS` with these names, in order."""
    return tuple(row for row in SDK_ROWS if row.name in names)


def build_pipeline(
    client: ClientVersion | None,
    visibility: list[Filter],
    *,
    lowered: bool,
    also: tuple[str, ...] = (),
    spared: tuple[str, ...] = (),
) -> list[Filter]:
    """The downgrades for `client`, around the filters of what it sees of subagents.

    `lowered`: that is less than the route shows to others, and a loss to be reported. `also`: the names of the rows that
    an SDK needs besides those of the release that it reads like; `spared`: of those of that release that it needs none of.
    """
    rows = [row for row in downgrades_for(client, also, spared) if lowered or row is not SUBAGENTS]
    before = [row.filter for row in rows if row.filter is not None and row.name in BEFORE_VISIBILITY]
    after = [row.filter for row in rows if row.filter is not None and row.name not in BEFORE_VISIBILITY]
    first = [row.filter for row in sdk_rows(also) if row.filter is not None and row.first]
    sdk = [row.filter for row in sdk_rows(also) if row.filter is not None and not row.first]
    last = [guard(client)] if client is not None and client < TOLERANT else []
    return [*before, *visibility, *first, *after, *sdk, *last]
