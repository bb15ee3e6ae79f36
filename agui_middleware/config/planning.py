"""From a route and a client to the filters of a response.

It imports the tables of the downgrades: a quarter of the package, which nothing needs before the first middleware is made.
Modules that only read a plan import `plan` instead.
"""

from collections.abc import Sequence
from typing import Final, Literal

from agui_middleware.config.plan import Plan
from agui_middleware.config.readers import Reader
from agui_middleware.downgrades import SUBAGENTS, Downgrade, SdkRow, build_pipeline, downgrades_for, sdk_rows
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.interrupt_outcomes import interrupts_as_outcome
from agui_middleware.filters.subagents import SubagentVisibility, track_ownership
from agui_middleware.protocol.releases import ClientVersion

_INTERRUPTS: Final = "interrupts"  # the row of the downgrades


def _header_value(client: ClientVersion | None, reader: Reader | None, visibility: SubagentVisibility) -> str | None:
    rows = downgrades_for(client)
    if not rows and reader is None:
        return None
    return f"client={reader or client}" + (f"; subagents={visibility}" if SUBAGENTS in rows else "")


def make_plan(
    client: ClientVersion | Reader | None,
    visibility: str = "auto",
    legacy_visibility: str = "inline",
    filters: Sequence[Filter] = (),
    interrupts: str = "auto",
) -> Plan:
    """The route's filters, then what the client needs: chunk expansion, visibility, downgrades in their order, the guard.

    `visibility`, `legacy_visibility` and `filters` are as in `Route`, `interrupts` is as in `Settings`. Raises `ValueError`
    where `visibility` is neither `auto` nor a value of `SubagentVisibility`.
    """
    reader = client if isinstance(client, Reader) else None
    release = client.release if isinstance(client, Reader) else client
    also, spared = ((), ()) if reader is None else (reader.rows, reader.spared)
    seen, lowered = _seen(visibility, legacy_visibility, release)
    visible = [] if seen is SubagentVisibility.ATTRIBUTED else [seen.filter()]
    hides = seen is SubagentVisibility.HIDDEN
    before = [track_ownership] if hides and filters else []
    rows: list[Downgrade | SdkRow] = [*downgrades_for(release, also, spared), *sdk_rows(also)]
    dialect = _dialect(interrupts, reads_outcomes=all(row.name != _INTERRUPTS for row in rows))
    posts_otherwise = any(row.upgrade is not None for row in rows)
    asked = [interrupts_as_outcome] if dialect == "outcome" else []
    also = (*also, _INTERRUPTS) if dialect == "custom" else also
    pipeline = build_pipeline(release, visible, lowered=lowered, also=also, spared=spared)
    composition = Composition([*before, *filters, *asked, *pipeline], foreign=len(before) + len(filters))
    return Plan(
        client=release,
        visibility=seen,
        composition=composition,
        hides=hides,
        rewrites=bool(composition.filters),
        reads_comments=reader is None or reader.comments,
        reader=reader,
        takes_away=bool(filters or visible or reader) or any(row.differences for row in downgrades_for(release)),
        interrupts=dialect,
        lowered=lowered,
        posts_otherwise=posts_otherwise,
        header_value=_header_value(release, reader, seen),
    )


def _seen(visibility: str, legacy: str, release: ClientVersion | None) -> tuple[SubagentVisibility, bool]:
    """What a reader sees of subagents, never more than the route shows, and whether `legacy` has decided that."""
    if visibility not in ("auto", "attributed"):
        return SubagentVisibility(visibility), False
    if SUBAGENTS in downgrades_for(release):
        return SubagentVisibility(legacy), True
    return SubagentVisibility.ATTRIBUTED, False


def _dialect(interrupts: str, *, reads_outcomes: bool) -> Literal["custom", "outcome"] | None:
    """The dialect that interrupts are put into. An agent and a client that both speak the older one need nothing."""
    if interrupts == "custom" or (interrupts == "auto" and not reads_outcomes):
        return "custom"
    return "outcome" if interrupts == "outcome" and reads_outcomes else None
