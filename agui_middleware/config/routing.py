"""Which route decides for a request."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from agui_middleware.config.path_table import PathTable
from agui_middleware.config.paths import is_deep, is_plain, normalised, own_path, readings, under_other_roots
from agui_middleware.config.routes import ELSEWHERE, Route


class Match(NamedTuple):
    """The index of the route that decides, and whether subagents are hidden: `visibility` of the route, or more."""

    route: int
    hides: bool


class Routing:
    """Finds the route of a request. Made once; a request costs the same however many routes have literal paths.

    The first route decides that takes path and method. A path that is spelled otherwise (see `paths`) is the same path,
    unless another route takes it exactly as it is. Where some route hides, this fails closed:

    - A route that hides takes its path in every reading, and with every method that no other route takes.
    - A path that is not plain is hidden, unless a route has exactly that path and no parameters.
    - A path so deep that the app's own root path may be longer than is tried is hidden behind a catch-all, see `is_deep`.
    - What no route takes is taken by `ELSEWHERE`, the last of `routes`, which hides.
    """

    def __init__(self, routes: Sequence[Route]) -> None:
        self.hides: bool = any(route.hides and route.enabled for route in routes)
        self.routes: list[Route] = [*routes, ELSEWHERE] if self.hides else [*routes]
        numbered = list(enumerate(routes))
        self._exact = PathTable((index, route.path) for index, route in numbered)
        # A catch-all takes every spelling anyway.
        named = [(index, route.path) for index, route in numbered if not route.catches_all]
        self._spelled = PathTable(named, spelled=True)
        hiding = [(index, route.path) for index, route in numbered if route.hides and route.enabled]
        self._hiding = PathTable(hiding, spelled=True)

    def find(self, scope: Mapping[str, Any]) -> Match | None:
        """The route that decides for an ASGI HTTP scope; `None` where the response passes through."""
        path, method = own_path(scope), scope["method"]
        exact = self._first(self._exact.find(path), method)
        match = self._strictly(scope, path, method, exact) if self.hides else self._loosely(scope, path, method, exact)
        return match if match is not None and self.routes[match.route].enabled else None

    def second_opinion(self, scope: Mapping[str, Any], root: str) -> Match | None:
        """The route that hides what the framework says has answered, once it has; `None` where it does not say.

        Starlette and FastAPI put their route into the scope, and FastAPI its own root path; Litestar its path template.
        `root` is the root path that the scope had before.
        """
        template = scope.get("path_template") or getattr(scope.get("route"), "path", None)
        app_root = scope.get("app_root_path", scope.get("root_path") or "")
        path = own_path({"path": scope["path"], "root_path": app_root})
        answered = [] if app_root == root else [path]
        if isinstance(template, str):
            mounted = scope.get("root_path", "").removeprefix(app_root)
            # Fewer segments: it lacks the prefix of the router that it was included in, and is another path.
            if ":path" in template or (mounted + template).count("/") == path.rstrip("/").count("/"):
                answered.append(mounted + template)
        hiding = (index for reading in answered for index in self._hiding.find(normalised(reading)))
        return next((Match(index, True) for index in hiding), None)

    def _first(self, hits: Iterable[int], method: str) -> int | None:
        for index in hits:
            if self.routes[index].takes(method):
                return index
        return None

    def _loosely(self, scope: Mapping[str, Any], path: str, method: str, exact: int | None) -> Match | None:
        """Where no route hides."""
        if self._names(exact):
            shown = exact
        else:
            shown = self._first_spelled(readings(scope, path, is_plain(scope, path)), method, exact)
        return None if shown is None else Match(shown, False)

    def _strictly(self, scope: Mapping[str, Any], path: str, method: str, exact: int | None) -> Match:
        """Where some route hides."""
        plain, names = is_plain(scope, path), self._names(exact)
        spelled = readings(scope, path, plain)
        hiding = self._first_hiding(spelled, method)
        if hiding is None and not names:
            hiding = self._first_hiding(under_other_roots(scope, path), method)
        shown = exact if names else self._first_spelled(spelled, method, exact)
        if hiding is None and not names and is_deep(path):
            plain = False
        if exact is not None and shown is not None and (plain or self.routes[exact].path == path):
            others = names and hiding is not None and not self.routes[hiding].takes(method)
            if hiding is None or exact < hiding or others:
                return Match(shown, self.routes[shown].hides)
        if hiding is not None:
            return Match(hiding, True)
        if shown is None or not (plain or self.routes[shown].enabled):
            return Match(len(self.routes) - 1, True)
        return Match(shown, not plain)

    def _names(self, exact: int | None) -> bool:
        return exact is not None and not self.routes[exact].catches_all

    def _first_hiding(self, paths: Iterable[str], method: str) -> int | None:
        """The first that hides and takes the method too, or else the first that hides."""
        found = [index for path in paths for index in self._hiding.find(path)]
        return min(found, key=lambda index: (not self.routes[index].takes(method), index), default=None)

    def _first_spelled(self, paths: Iterable[str], method: str, exact: int | None) -> int | None:
        """The first that takes the path in some reading, `exact` included."""
        found = [self._first(self._spelled.find(path), method) for path in paths]
        return min((index for index in [*found, exact] if index is not None), default=None)
