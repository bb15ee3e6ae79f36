"""The plans of a configuration: one for each route and reader, made once."""

from collections.abc import Mapping, Sequence

from agui_middleware.config.route_plans import RoutePlans
from agui_middleware.config.routes import EVERY_PATH, Route
from agui_middleware.config.routing import Match, Routing
from agui_middleware.filters.contract import FILTER, Filter, why_no_filter


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
        self.may_hide: bool = reads_paths and self.routing.hides
        """Whether the framework may say that a route which hides has answered."""
        _check(named)
        self._of: dict[Match, RoutePlans] = {}
        for index, route in enumerate(self.routes):
            filters = _resolve(index, route, named)
            for hides in (False, True):
                plans = RoutePlans(route, hides, filters, interrupts, reads_paths=reads_paths)
                self._of[Match(index, hides)] = plans

    def of(self, match: Match) -> RoutePlans:
        """The plans of the route that decides; `match.hides` overrides its visibility."""
        return self._of[match]


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
