"""What one configuration decides for the requests of one route, once for all of them."""

from collections.abc import Sequence
from typing import Final

from agui_middleware.config.plan import Plan
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.config.routes import ELSEWHERE, EVERY_PATH, Route
from agui_middleware.config.routing import Match
from agui_middleware.filters.contract import Filter
from agui_middleware.protocol.releases import ClientVersion

_MOST: Final = 256
"""More than there are releases and SDKs. Only hops that name several clients, which combine in any way, can reach it."""


class RoutePlans:
    """A route with its plans, one for each reader.

    - `number`: that of the route among all of the configuration.
    - `hides`: whether subagents are hidden: `visibility` of the route, or more.
    - `filters`: those that the route names.
    - `is_named`: whether the operator has configured the path, or the endpoint.
    - `is_meant`: whether subagents are hidden because the operator says so for this path.
    - `names_client`: whether the route says who reads it, where the request does not.
    - `may_be_foreign`: whether an event stream may be something other than AG-UI.
    """

    __slots__ = (
        "_interrupts",
        "_plans",
        "_visibility",
        "filters",
        "hides",
        "is_meant",
        "is_named",
        "may_be_foreign",
        "names_client",
        "number",
        "route",
    )

    def __init__(
        self, route: Route, match: Match, filters: Sequence[Filter], interrupts: str, *, reads_paths: bool
    ) -> None:
        self.route: Route = route
        self.number: int = match.route
        self.hides: bool = match.hides
        self.filters: Sequence[Filter] = filters
        self.is_named: bool = route is not EVERY_PATH and route is not ELSEWHERE
        self.is_meant: bool = match.hides and self.is_named and route.hides
        self.names_client: bool = route.client is not None or route.default_client is not None
        # Where a route stands for a whole app, and where an endpoint is wrapped and does not hide.
        self.may_be_foreign: bool = not self.is_named or (not reads_paths and not match.hides)
        self._visibility = "hidden" if match.hides else route.visibility
        self._interrupts = route.interrupts or interrupts
        self._plans: dict[ClientVersion | Reader | None, Plan] = {}

    def plan(self, client: ClientVersion | Reader | None) -> Plan:
        """The plan for a reader."""
        plan = self._plans.get(client)
        if plan is None:
            if len(self._plans) >= _MOST:
                self._plans.clear()
            plan = make_plan(client, self._visibility, self.route.legacy_visibility, self.filters, self._interrupts)
            self._plans[client] = plan
        return plan
