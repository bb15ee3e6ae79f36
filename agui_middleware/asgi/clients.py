"""Who reads the response to a request, so far as its head tells."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from agui_middleware.asgi.reports import Reports
from agui_middleware.config import advertised
from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.readers import Reader
from agui_middleware.protocol.releases import FIRST_WITH_PROTOCOL_VERSION, ClientVersion

if TYPE_CHECKING:
    from agui_middleware.config.routes import Route
    from agui_middleware.config.settings import Settings

Identify = Callable[[Scope], "ClientVersion | Reader | str | None"]
Client = ClientVersion | Reader | None
_NAMED: Final = (ClientVersion, Reader)


class Clients:
    """Tells the reader of each response. `identify` is that of `AGUIMiddleware`."""

    def __init__(
        self, routes: "Sequence[Route]", settings: "Settings", identify: Identify | None, reports: Reports
    ) -> None:
        self._identify = identify
        self._reports = reports
        self._default = settings.default_client
        self._names = tuple(settings.headers)
        self._fields = frozenset(name.lower().encode("latin-1", "replace") for name in settings.headers)
        self._configured = [
            (counts_as(route.client), True) if isinstance(route.client, _NAMED) else None for route in routes
        ]
        self._unnamed = [self._default_of(route) for route in routes]

    def of(self, route: int, scope: Scope) -> tuple[Client, bool]:
        """The reader of a response of a route, and whether that is certain: the body may still name a newer release."""
        configured = self._configured[route]
        if configured is not None:
            return configured
        client = self._named(scope) if self._identify is None else self._identified(self._identify(scope))
        return self._unnamed[route] if client is None else (counts_as(client), True)

    def _default_of(self, route: "Route") -> tuple[Client, bool]:
        default_client = self._default if route.default_client is None else route.default_client
        default = None if isinstance(default_client, str) else counts_as(default_client)
        if self._identify is not None or default is None:
            return default, True
        return default, isinstance(default, ClientVersion) and default >= FIRST_WITH_PROTOCOL_VERSION

    def _named(self, scope: Scope) -> Client:
        named, agents = [], []
        for field in scope.get("headers", ()):
            name = field[0].lower()
            if name in self._fields:
                named.append(field)
            if name == b"user-agent":
                agents.append(field)
        query = scope.get("query_string", b"")
        if named or query:
            for values in advertised.advertised(named, query, self._names):
                version = advertised.parse_advertised(values)
                if version is not None:
                    return version
                self._reports.unknown_release(values)
        return advertised.user_agent(agents) if agents else None

    def _identified(self, answer: object) -> Client:
        if answer is None or isinstance(answer, _NAMED):
            return answer
        version = advertised.parse_advertised([answer]) if isinstance(answer, str) else None
        if version is None:
            self._reports.unknown_answer(answer)
        return version
