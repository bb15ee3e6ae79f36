"""The middleware: configuration, and for each request a plan and a responder."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, Unpack

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.default_client import watch_for_rejected_events
from agui_middleware.asgi.endpoint import Endpoint, as_app
from agui_middleware.asgi.fault_watch import FaultWatch
from agui_middleware.asgi.keep_alive import Sleep
from agui_middleware.asgi.posted_input import PostedInput
from agui_middleware.asgi.reports import Reports
from agui_middleware.asgi.request import Body
from agui_middleware.asgi.responder import Responder
from agui_middleware.asgi.turn_maker import History, Owner, TurnMaker
from agui_middleware.config import advertised
from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.options import RouteOptions
from agui_middleware.config.plan import STATE, Choice, Plan, Restoration
from agui_middleware.config.readers import Reader
from agui_middleware.filters.contract import Context, Filter, Loss
from agui_middleware.protocol.releases import FIRST_WITH_PROTOCOL_VERSION, ClientVersion
from agui_middleware.stream.async_rewriter import AsyncRewriter, Write

if TYPE_CHECKING:
    from agui_middleware.asgi.turn import Turn
    from agui_middleware.config.routes import Route
    from agui_middleware.config.settings import Settings

P = ParamSpec("P")
_ALL_LOOKED_AT: Final = 100
Identify = Callable[[Scope], "ClientVersion | Reader | str | None"]


class AGUIMiddleware:
    """Wraps an ASGI app that serves AG-UI over Server-Sent Events: every client gets a stream that it reads.

    With keyword arguments for one route, no path and no method is looked at, so that one endpoint can be wrapped:

        Route("/agent", AGUIMiddleware(endpoint, visibility="hidden"))
        app.add_middleware(AGUIMiddleware, default_client="0.0.58")

    - `app`: an ASGI app, or an endpoint function that takes a Starlette request and returns a response.
    - `visibility`, `legacy_visibility`, `filters`, `client`, `default_client`, `keep_alive`, `history_without_subagents`: as
      in `agui_middleware.Route`. The other settings come from the environment and from files.
    - `settings`: instead of these, for several routes. Without either: `Settings.load()`.
    - `named_filters`: the filters that routes name, by name.
    - `identify`: returns the release of @ag-ui/client for the ASGI scope, instead of headers, query and body; `None` for a
      client that does not name one.
    - `on_plan`: called with the ASGI scope and the `Choice` (route, client and plan) for each response that is an event
      stream, before its first event. The app finds the same object as `request.state.agui`.
    - `on_loss`: called with each `Loss`, once a response and feature, whether it is logged or not.
    - `history`: the store for what clients could not be given, in place of `Settings.history`: any store of
      py-key-value-aio, or the URL of one; `False` for none. Whoever makes the store closes it.
    - `owner`: returns whose the thread is, for the ASGI scope, such as the id of the user who has signed in; `None` for
      nobody's. Threads of different owners never meet. Where it raises, nothing is kept and nothing put back.
    - `on_restore`: called with the ASGI scope and the `Restoration`, where something was put back into a posted
      conversation; the app finds the same as `request.state.agui.restored`.

    Raises `TypeError` where `app` is neither, or where `settings` and options of a route are given together; `ValueError`
    where a route names a filter that is not in `named_filters`, where one in `named_filters` is not a filter, and what
    `Settings` and `Route` raise.

    Everything that is not a response with status 200 and media type `text/event-stream` on one of the routes passes
    untouched, WebSocket and lifespan included. Where some route hides, so does every path that no route has, and less
    passes: see the README of `asgi/`.
    """

    def __init__(
        self,
        app: "ASGIApp | Endpoint",
        settings: "Settings | None" = None,
        *,
        named_filters: Mapping[str, Filter] | None = None,
        identify: Identify | None = None,
        on_plan: Callable[[Scope, Choice], None] | None = None,
        on_loss: Callable[[Loss], None] | None = None,
        history: History = None,
        owner: Owner | None = None,
        on_restore: Callable[[Scope, Restoration], None] | None = None,
        **route: Unpack[RouteOptions],
    ) -> None:
        # pydantic takes longer to import than all else here, and is needed only where something is configured.
        from agui_middleware.config.plans import Plans
        from agui_middleware.config.settings import Settings

        one = _one_route(settings, route) if route else None
        self.app: ASGIApp = as_app(app)
        self.settings: Settings = Settings.load() if settings is None else settings
        routes = self.settings.routes if one is None else [one]
        self._plans = Plans(routes, named_filters or {}, reads_paths=one is None)
        self._identify = identify
        self._on_plan = on_plan
        self._on_loss = on_loss
        self._on_restore = on_restore
        self._reports = Reports()
        self._turns = TurnMaker(self.settings, history, owner, self._reports)
        self._faults = FaultWatch(self._reports.producer_fault, self.settings.max_event_bytes)
        self._watches = identify is None and "default_client" not in self.settings.model_fields_set
        self._unnamed = 0  # responses to clients that nobody has named
        self._sleep: Sleep = anyio.sleep  # tests have a clock of their own

    @property
    def history_failures(self) -> int:
        """How often the store of the history could not be read or written, for metrics. The runs went on without."""
        return self._reports.history_failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = (self._plans.only or self._plans.routing.find(scope)) if scope["type"] == "http" else None
        if match is None:
            await self.app(scope, receive, self._turns.closing(send) if scope["type"] == "lifespan" else send)
            return
        route = self._plans.routes[match.route]
        client, certain = self._client(route, scope)
        body = Body(receive, self.settings.max_event_bytes)
        decision = Decision(self._plans, match, client, certain, scope, body)
        scope.setdefault("state", {})[STATE] = decision.choice  # where servers and Starlette keep the request's own
        strict = self._plans.routing.hides  # the framework may say that a route that hides has answered
        if not (decision.choice.plan.rewrites or self.settings.fix_framing or strict or not certain):
            decision.freeze()
            await self.app(scope, receive, send)
            return
        unnamed = certain and client is None and route.client is None and route.default_client is None
        if self._watches and unnamed and self._is_sampled():
            decision.unnamed, certain = True, False
            send = watch_for_rejected_events(send, decision, self._report_rejected)
        incoming = receive if certain else body.receive
        turn = self._turns.of(decision, scope, partial(self._restored, scope))
        if turn is not None:
            posted = PostedInput(decision.inner, incoming, self.settings.max_request_bytes, turn.read)
            await posted.read()
            decision.inner, incoming, send = posted.scope, posted.receive, turn.sender(send)
        vary = self.settings.headers if route.client is None and self._identify is None else []
        choose_plan, make_stream = partial(self._choose, decision, scope), partial(self._stream, decision, scope, turn)
        keep_alive = self.settings.keep_alive if route.keep_alive is None else route.keep_alive
        responder = Responder(send, choose_plan, make_stream, vary, self._reports, decision, keep_alive, self._sleep)
        app = self._faults.watch(self.app, route.path, self._plans.filters(match)) if self.settings.warn else self.app
        try:
            await responder.run(app, decision.inner, incoming)
        finally:
            decision.freeze()
            if turn is not None:
                await turn.keep()

    def _choose(self, decision: Decision, scope: Scope) -> Plan:
        plan = decision.freeze_for_stream()
        if plan.hides and not self._plans.is_meant(decision.match):
            self._reports.unnamed_path(scope)
        if self._on_plan is not None:
            self._notify("on_plan", self._on_plan, scope, decision.choice)
        return plan

    def _stream(
        self, decision: Decision, scope: Scope, turn: "Turn | None", plan: Plan, write: Write, sniff: bool
    ) -> AsyncRewriter:
        limit, debug = self.settings.max_event_bytes, self.settings.debug
        context = Context(plan.client, decision.choice.route.path, scope, self._report_loss, limit, plan.reader_name)
        sniff = sniff or self._plans.may_be_foreign(decision.match)
        witness = None if turn is None else turn.witness(plan, context)
        log = self._reports.stream
        stream = AsyncRewriter(plan, context, write, limit, sniff=sniff, verify=debug, log=log, witness=witness)
        if turn is not None:
            turn.follow(stream.rewriter)
        return stream

    def _client(self, route: "Route", scope: Scope) -> tuple[ClientVersion | Reader | None, bool]:
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
            self._reports.unknown_answer(answer)
        return version

    def _advertised(self, scope: Scope) -> ClientVersion | Reader | None:
        fields, query = scope.get("headers", ()), scope.get("query_string", b"")
        for values in advertised.advertised(fields, query, self.settings.headers):
            version = advertised.parse_advertised(values)
            if version is not None:
                return version
            self._reports.unknown_release(values)
        return None

    def _report_loss(self, loss: Loss) -> None:
        if self.settings.warn:
            self._reports.loss(loss)
        if self._on_loss is not None:
            self._notify("on_loss", self._on_loss, loss)

    def _restored(self, scope: Scope, restoration: Restoration) -> None:
        if self._on_restore is not None:
            self._notify("on_restore", self._on_restore, scope, restoration)

    def _notify(self, name: str, hook: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            hook(*args, **kwargs)
        except Exception as error:
            self._reports.hook_failed(name, error)

    def _is_sampled(self) -> bool:
        """Whether to look for events that older releases reject: in the first responses, then in one of sixteen, since it
        costs each event of such a response a third of what passing costs.
        """
        self._unnamed += 1
        return self._unnamed <= _ALL_LOOKED_AT or self._unnamed % 16 == 0

    def _report_rejected(self, type: str) -> None:
        self._watches = False  # once is enough: it looks at every chunk
        self._reports.rejected_event(type)


def _one_route(settings: object, options: RouteOptions) -> "Route":
    """The route of a middleware that has one. Raises `TypeError` where there are settings besides, or a field too many."""
    from agui_middleware.config.routes import Route

    given = ", ".join(options)
    if settings is not None:
        raise TypeError(
            f"give either settings= or options of one route ({given}), which Route takes in settings.routes"
        )
    unknown = [name for name in options if name not in RouteOptions.__annotations__]
    if unknown:
        allowed = ", ".join(RouteOptions.__annotations__)
        raise TypeError(
            f"{', '.join(unknown)}: no such option; allowed: {allowed}. "
            "Paths and everything else are for settings=Settings(routes=[Route(...)], ...)"
        )
    if isinstance(options.get("filters"), Mapping):
        raise TypeError("filters= are the filters of one route, in order; those that routes name are named_filters=")
    return Route(**options)  # type: ignore[arg-type]  # validated there
