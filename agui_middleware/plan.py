"""From a route and a client to the filters of a response."""

from collections.abc import Sequence
from typing import NamedTuple

from agui_middleware.client import ClientVersion
from agui_middleware.downgrades import SUBAGENTS, filters_for, needed_by
from agui_middleware.filters.chain import Composition
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.subagents import SubagentVisibility, witness


class Plan(NamedTuple):
    """What happens to the response of one route for one client."""

    client: ClientVersion | None
    """The release that reads it; `None`: one that reads everything."""
    visibility: SubagentVisibility
    composition: Composition
    hides: bool
    """The route keeps something from every client: nothing may leave that was not read."""

    @property
    def rewrites(self) -> bool:
        """Whether there is anything to do but the framing."""
        return bool(self.composition.filters)

    @property
    def summary(self) -> str | None:
        """The value of `x-ag-ui-downgrade`; `None` where the client's release changes nothing."""
        rows = needed_by(self.client)
        if not rows:
            return None
        return f"client={self.client}" + (f"; subagents={self.visibility}" if SUBAGENTS in rows else "")


def make_plan(
    client: ClientVersion | None,
    visibility: str = "auto",
    legacy_visibility: str = "inline",
    filters: Sequence[Filter] = (),
) -> Plan:
    """The route's filters, then what the client needs: chunk expansion, visibility, downgrades newest first, the guard.

    `visibility` is a floor: a client that cannot read subagents is given less, none is given more. Raises `ValueError`
    where it is not `auto` or a value of `SubagentVisibility`.
    """
    lowered = visibility in ("auto", "attributed") and SUBAGENTS in needed_by(client)
    shown = legacy_visibility if lowered else "attributed" if visibility == "auto" else visibility
    seen = SubagentVisibility(shown)
    visible = [] if seen is SubagentVisibility.ATTRIBUTED else [seen.filter()]
    hides = seen is SubagentVisibility.HIDDEN
    before = [witness] if hides and filters else []
    composition = Composition([*before, *filters, *filters_for(client, visible, lowered=lowered)])
    return Plan(client, seen, composition, hides)
