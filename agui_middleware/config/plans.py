"""The plans of a configuration: one for each route and reader, made once."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from agui_middleware.config.route_plans import RoutePlans
from agui_middleware.config.routes import EVERY_PATH, Route
from agui_middleware.config.routing import Match, Routing
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.functions import FILTER, why_no_filter

_REMEMBERED: Final = 1024
_LONGEST: Final = 256
"""Of a path that is remembered: clients choose paths, and those may be as long as a server takes them."""


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
        self.may_hide: bool = reads_paths and self.routing.hides
        """Whether the framework may say that a route which hides has answered."""
        _check(named)
        self._of: dict[Match, RoutePlans] = {}
        for index, route in enumerate(self.routes):
            filters = _resolve(index, route, named)
            for hides in (False, True):
                match = Match(index, hides)
                self._of[match] = RoutePlans(route, match, filters, interrupts, reads_paths=reads_paths)
        self.only: RoutePlans | None = None if reads_paths else self._of[Match(0, routes[0].hides)]
        self._remembered = lru_cache(_REMEMBERED)(self._find)

    def find(self, scope: Mapping[str, Any]) -> RoutePlans | None:
        """The plans of the route that decides for an ASGI HTTP scope; `None` where the response passes through."""
        if self.only is not None:
            return self.only
        path, raw_path = scope["path"], scope.get("raw_path") or b""
        find = self._remembered if len(path) + len(raw_path) <= _LONGEST else self._find
        return find(path, raw_path, scope.get("root_path") or "", scope["method"])

    def _find(self, path: str, raw_path: bytes, root_path: str, method: str) -> RoutePlans | None:
        match = self.routing.find({"path": path, "raw_path": raw_path, "root_path": root_path, "method": method})
        return None if match is None else self._of[match]

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
