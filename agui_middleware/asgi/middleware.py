"""The middleware: configuration, and for each request a plan and a responder."""

import logging
from collections.abc import Callable, Mapping
from typing import ParamSpec

from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware.asgi.request import Body, without_encodings
from agui_middleware.asgi.responder import Responder
from agui_middleware.config import advertised
from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.plan import STATE, Choice, Plan, make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.config.routes import Route
from agui_middleware.config.settings import Settings
from agui_middleware.filters.contract import FILTER, Context, Filter, Loss, why_no_filter
from agui_middleware.protocol.releases import FIRST_WITH_PROTOCOL_VERSION, ClientVersion, nearest_release
from agui_middleware.stream.async_rewriter import AsyncRewriter, Write

logger: logging.Logger = logging.getLogger("agui_middleware")

P = ParamSpec("P")
Identify = Callable[[Scope], "ClientVersion | Reader | str | None"]

_EVERY_PATH = Route()


class AGUIMiddleware:
    """Wraps an ASGI app that serves AG-UI over Server-Sent Events: every client gets a stream that it reads.

    - `settings`: by default read from the environment and from files, see `Settings`.
    - `filters`: the filters that routes name, by name.
    - `identify`: tells the release of @ag-ui/client from the ASGI scope, instead of headers, query and body; `None` for a
      client that does not say.
    - `on_plan`: called with the ASGI scope and the `Choice` (route, client and plan) for each response that is an event
      stream, before its first event. The app finds the same object as `request.state.agui`.
    - `on_loss`: called with each `Loss`, once a response and shape, whether it is logged or not.

    Raises `ValueError` where a route names a filter that is not in `filters`, or where one in `filters` is none. Everything
    that is not a response with status 200 and media type `text/event-stream` on one of the routes passes untouched,
    WebSocket and lifespan included.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings | None = None,
        *,
        filters: Mapping[str, Filter] | None = None,
        identify: Identify | None = None,
        on_plan: Callable[[Scope, Choice], None] | None = None,
        on_loss: Callable[[Loss], None] | None = None,
    ) -> None:
        self.app = app
        settings = Settings() if settings is None else settings
        self.settings: Settings = settings
        self._identify = identify
        self._on_plan = on_plan
        self._on_loss = on_loss
        self._routes = settings.routes or [_EVERY_PATH]
        named = _checked(filters or {})
        self._filters = [_resolve(index, route, named) for index, route in enumerate(self._routes)]
        self._plans: dict[
            tuple[int, ClientVersion | Reader | None], Plan
        ] = {}  # as many as there are routes and readers
        self._warned: set[str] = set()  # what was said once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        index = self._match(scope) if scope["type"] == "http" else None
        if index is None:
            await self.app(scope, receive, send)
            return
        route = self._routes[index]
        client, certain = self._client(route, scope)
        plan = self._plan(index, client)
        body = Body(receive, self.settings.max_event_bytes)

        def choose() -> Plan:
            spoken = None if certain else advertised.from_body(body.so_far())
            return plan if spoken is None else self._plan(index, nearest_release(spoken))

        choice = Choice(route, plan, choose)
        scope.setdefault("state", {})[STATE] = choice  # where servers and Starlette keep what is the request's own
        if not (plan.rewrites or self.settings.fix_framing or not certain):
            choice.freeze()
            await self.app(scope, receive, send)
            return
        inner = without_encodings(scope) if plan.rewrites or not certain else scope

        def choose_plan() -> Plan:
            chosen = choice.freeze()
            body.drop()
            if self._on_plan is not None:
                _notify("plan", self._on_plan, scope, choice)
            return chosen

        def make_stream(plan: Plan, write: Write) -> AsyncRewriter:
            limit, debug = self.settings.max_event_bytes, self.settings.debug
            context = Context(
                plan.client, route.path, scope, self._report_loss, limit, plan.reader_name
            )
            return AsyncRewriter(plan, context, write, limit, sniff=route is _EVERY_PATH, verify=debug)

        vary = self.settings.headers if route.client is None and self._identify is None else []
        responder = Responder(send, choose_plan, make_stream, vary, self._report_compressed, route.hides)
        try:
            await responder.run(self.app, inner, receive if certain else body.receive)
        finally:
            choice.freeze()

    def _match(self, scope: Scope) -> int | None:
        """The route that decides. One that hides takes any method of its path that no other route takes."""
        fallback = None
        for index, route in enumerate(self._routes):
            match = route.matches(scope)
            if match is Match.FULL:
                return index if route.enabled else None
            if match is Match.PARTIAL and route.hides and route.enabled and fallback is None:
                fallback = index
        return fallback

    def _client(self, route: Route, scope: Scope) -> tuple[ClientVersion | Reader | None, bool]:
        """Who reads the response, and whether that is certain: the body may still name a newer release."""
        if isinstance(route.client, ClientVersion | Reader):
            return counts_as(route.client), True
        version = self._advertised(scope) if self._identify is None else self._identified(self._identify(scope))
        if version is None and self._identify is None:
            version = advertised.user_agent(scope.get("headers", ()))
        if version is not None:
            return counts_as(version), True
        default_client = self.settings.default_client if route.default_client is None else route.default_client
        default = None if isinstance(default_client, str) else counts_as(default_client)
        if self._identify is not None or default is None:
            return default, True
        return default, isinstance(default, ClientVersion) and default >= FIRST_WITH_PROTOCOL_VERSION

    def _identified(self, answer: object) -> ClientVersion | Reader | None:
        if answer is None or isinstance(answer, ClientVersion | Reader):
            return answer
        version = advertised.parse_advertised([answer]) if isinstance(answer, str) else None
        if version is None:
            self._warn_once("identified", "what `identify` returned is no release and counts as absent: %.80r", answer)
        return version

    def _advertised(self, scope: Scope) -> ClientVersion | Reader | None:
        fields, query = scope.get("headers", ()), scope.get("query_string", b"")
        for values in advertised.advertised(fields, query, self.settings.headers):
            version = advertised.parse_advertised(values)
            if version is not None:
                return version
            self._warn_once("advertised", "a client's release could not be read and counts as absent: %.80r", values)
        return None

    def _plan(self, index: int, client: ClientVersion | Reader | None) -> Plan:
        plan = self._plans.get((index, client))
        if plan is None:
            route = self._routes[index]
            plan = make_plan(client, route.visibility, route.legacy_visibility, self._filters[index])
            self._plans[index, client] = plan
        return plan

    def _report_loss(self, loss: Loss) -> None:
        if self.settings.warn:
            logger.warning("%s", loss, extra=loss.fields)
        if self._on_loss is not None:
            _notify("loss", self._on_loss, loss)

    def _report_compressed(self, coding: str) -> None:
        message = "a stream compressed with %s passes unread; put the compression outside AGUIMiddleware"
        self._warn_once("compressed", message, coding)

    def _warn_once(self, key: str, message: str, *values: object) -> None:
        if key not in self._warned:
            self._warned.add(key)
            logger.warning(message, *values)


def _notify(what: str, hook: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Call a hook. One that raises is logged, and costs the stream nothing."""
    try:
        hook(*args, **kwargs)
    except Exception:
        logger.exception("the hook on_%s raised", what)


def _checked(named: Mapping[str, Filter]) -> Mapping[str, Filter]:
    for name, filter in named.items():
        why = why_no_filter(filter)
        if why is not None:
            raise ValueError(f"filters[{name!r}]: {filter!r} {why}; {FILTER}")
    return named


def _resolve(index: int, route: Route, named: Mapping[str, Filter]) -> list[Filter]:
    resolved = []
    for position, filter in enumerate(route.filters):
        if isinstance(filter, str) and filter not in named:
            allowed = ", ".join(map(repr, sorted(named))) or "none was given"
            raise ValueError(
                f"routes.{index}.filters.{position}: no filter is named {filter!r}; `filters=` has: {allowed}"
            )
        resolved.append(named[filter] if isinstance(filter, str) else filter)
    return resolved
