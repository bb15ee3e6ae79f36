"""The plans of a configuration: one for each route and reader, made once."""

from collections.abc import Mapping, Sequence
from typing import Final

from agui_middleware.config.plan import Plan, make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.config.routes import ELSEWHERE, EVERY_PATH, Route
from agui_middleware.config.routing import Match, Routing
from agui_middleware.filters.contract import FILTER, Filter, why_no_filter
from agui_middleware.protocol.releases import ClientVersion

# More than there are releases and SDKs. Only hops that name several clients, which combine in any way, can reach it.
_MOST_OF_A_ROUTE: Final = 256


class Plans:
    """Which route decides for a request, and what happens to its response.

    `reads_paths`: otherwise the only route decides for every request. `interrupts`: that of the settings. Raises
    `ValueError` where a route names a filter that is not in `named`, or where one in `named` is not a filter.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        named: Mapping[str, Filter],
        *,
        reads_paths: bool = True,
        interrupts: str = "auto",
    ) -> None:
        self.routing: Routing = Routing(routes or [EVERY_PATH])
        self.routes: Sequence[Route] = self.routing.routes
        self.only: Match | None = None if reads_paths else Match(0, routes[0].hides)
        self._interrupts = interrupts
        _check(named)
        self._filters = [_resolve(index, route, named) for index, route in enumerate(self.routes)]
        self._plans: dict[tuple[int, bool, ClientVersion | Reader | None], Plan] = {}

    def plan(self, match: Match, client: ClientVersion | Reader | None) -> Plan:
        """The plan for a reader; `match.hides` overrides the visibility of the route."""
        key = (match.route, match.hides, client)
        plan = self._plans.get(key)
        if plan is None:
            route = self.routes[match.route]
            if len(self._plans) >= _MOST_OF_A_ROUTE * len(self.routes):
                self._plans.clear()
            visibility = "hidden" if match.hides else route.visibility
            interrupts = route.interrupts or self._interrupts
            filters = self._filters[match.route]
            plan = make_plan(client, visibility, route.legacy_visibility, filters, interrupts)
            self._plans[key] = plan
        return plan

    def filters(self, match: Match) -> Sequence[Filter]:
        """The filters of the route that decides."""
        return self._filters[match.route]

    def is_named(self, match: Match) -> bool:
        """Whether the operator has configured the path, or the endpoint."""
        route = self.routes[match.route]
        return route is not EVERY_PATH and route is not ELSEWHERE

    def is_meant(self, match: Match) -> bool:
        """Whether subagents are hidden because the operator says so for this path."""
        return match.hides and self.is_named(match) and self.routes[match.route].hides

    def may_be_foreign(self, match: Match) -> bool:
        """Whether an event stream may be something other than AG-UI: where a route stands for a whole app, and where an
        endpoint is wrapped and does not hide.
        """
        return not self.is_named(match) or (self.only is not None and not match.hides)


def _check(named: Mapping[str, Filter]) -> None:
    for name, filter in named.items():
        why = why_no_filter(filter)
        if why is not None:
            raise ValueError(f"named_filters[{name!r}]: {filter!r} {why}; {FILTER}")


def _resolve(index: int, route: Route, named: Mapping[str, Filter]) -> list[Filter]:
    resolved = []
    for position, filter in enumerate(route.filters):
        if isinstance(filter, str) and filter not in named:
            allowed = ", ".join(map(repr, sorted(named))) or "none was given"
            raise ValueError(
                f"routes.{index}.filters.{position}: no filter is named {filter!r}; `named_filters=` has: {allowed}"
            )
        resolved.append(named[filter] if isinstance(filter, str) else filter)
    return resolved
