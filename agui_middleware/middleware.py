"""The middleware: configuration, and for each request a plan and a responder."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec

from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import client as clients
from agui_middleware import headers
from agui_middleware.client import ClientVersion
from agui_middleware.filters.contract import FILTER, Context, Filter, Loss, why_no_filter
from agui_middleware.plan import STATE, Choice, Plan, make_plan
from agui_middleware.response import Responder
from agui_middleware.settings import Route, Settings
from agui_middleware.stream import Stream, Write

logger: logging.Logger = logging.getLogger("agui_middleware")

Told = ParamSpec("Told")
Identify = Callable[[Scope], "ClientVersion | str | None"]

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
        self._plans: dict[tuple[int, ClientVersion | None], Plan] = {}  # as many as there are routes and releases
        self._told: set[str] = set()  # what was said once

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
            spoken = None if certain else clients.from_body(body.so_far())
            return plan if spoken is None else self._plan(index, clients.known(spoken))

        choice = Choice(route, plan, choose)
        scope.setdefault("state", {})[STATE] = choice  # where servers and Starlette keep what is the request's own
        if not (plan.rewrites or self.settings.fix_framing or not certain):
            choice.settle()
            await self.app(scope, receive, send)
            return
        inner = readable(scope) if plan.rewrites or not certain else scope

        def choose_plan() -> Plan:
            chosen = choice.settle()
            body.drop()
            if self._on_plan is not None:
                _tell("plan", self._on_plan, scope, choice)
            return chosen

        def make_stream(plan: Plan, write: Write) -> Stream:
            limit, debug = self.settings.max_event_bytes, self.settings.debug
            context = Context(plan.client, route, scope, self._report_loss, limit)
            return Stream(plan, context, write, limit, doubtful=route is _EVERY_PATH, verify=debug)

        vary = self.settings.headers if route.client is None and self._identify is None else []
        responder = Responder(send, choose_plan, make_stream, vary, self._report_compressed, route.hides)
        try:
            await responder.run(self.app, inner, receive if certain else body.receive)
        finally:
            choice.settle()

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

    def _client(self, route: Route, scope: Scope) -> tuple[ClientVersion | None, bool]:
        """The release that reads the response, and whether that is certain: the body may still name a newer one."""
        if isinstance(route.client, ClientVersion):
            return clients.known(route.client), True
        version = self._advertised(scope) if self._identify is None else self._identified(self._identify(scope))
        if version is not None:
            return clients.known(version), True
        unadvertised = self.settings.unadvertised if route.unadvertised is None else route.unadvertised
        default = clients.known(unadvertised) if isinstance(unadvertised, ClientVersion) else None
        return default, self._identify is not None or default is None or default >= clients.FIRST_WITH_PROTOCOL_VERSION

    def _identified(self, answer: object) -> ClientVersion | None:
        if answer is None or isinstance(answer, ClientVersion):
            return answer
        version = clients.parse_advertised([answer]) if isinstance(answer, str) else None
        if version is None:
            self._tell_once("identified", "what `identify` returned is no release and counts as absent: %.80r", answer)
        return version

    def _advertised(self, scope: Scope) -> ClientVersion | None:
        fields, query = scope.get("headers", ()), scope.get("query_string", b"")
        for values in clients.advertised(fields, query, self.settings.headers):
            version = clients.parse_advertised(values)
            if version is not None:
                return version
            self._tell_once("advertised", "a client's release could not be read and counts as absent: %.80r", values)
        return None

    def _plan(self, index: int, client: ClientVersion | None) -> Plan:
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
            _tell("loss", self._on_loss, loss)

    def _report_compressed(self, coding: str) -> None:
        message = "a stream compressed with %s passes unread; put the compression outside AGUIMiddleware"
        self._tell_once("compressed", message, coding)

    def _tell_once(self, key: str, message: str, *values: object) -> None:
        if key not in self._told:
            self._told.add(key)
            logger.warning(message, *values)


class Body:
    """Keeps what the app reads of the request's body, up to a bound, and takes nothing from it."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    async def receive(self) -> Message:
        message = await self._receive()
        part = message.get("body", b"") if message["type"] == "http.request" else b""
        self._size += len(part)
        if self._size > self._limit:
            self._parts = []
        elif part:
            self._parts.append(part)
        return message

    def so_far(self) -> bytes:
        """What was read so far; nothing where it was more than the bound."""
        return b"".join(self._parts)

    def drop(self) -> None:
        """Keep it no longer, nor what comes later."""
        self._parts, self._limit = [], 0


def readable(scope: Scope) -> Scope:
    """A copy of an HTTP scope that asks the app for a body that can be read here: whole, in the clear, in messages."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    kept = {name: value for name, value in extensions.items() if name not in headers.UNREAD_EXTENSIONS}
    return {**scope, "headers": headers.for_readable_body(scope.get("headers", ())), "extensions": kept}


def _tell(what: str, hook: Callable[Told, None], *args: Told.args, **kwargs: Told.kwargs) -> None:
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
