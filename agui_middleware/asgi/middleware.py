"""The middleware: configuration, and for each request a plan and a responder."""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Unpack

from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware.asgi.clients import Clients, Identify
from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.default_client import watch_for_rejected_events
from agui_middleware.asgi.endpoint import Endpoint, as_app
from agui_middleware.asgi.fault_watch import FaultWatch
from agui_middleware.asgi.headers import is_plain_json
from agui_middleware.asgi.posted_input import PostedInput, as_posted
from agui_middleware.asgi.reports import Reports
from agui_middleware.asgi.responder import Responder
from agui_middleware.asgi.streams import Streams
from agui_middleware.asgi.turn_maker import History, Owner, TurnMaker
from agui_middleware.config.options import RouteOptions
from agui_middleware.config.plan import STATE, Choice, Restoration
from agui_middleware.filters.contract import Filter, Loss

if TYPE_CHECKING:
    from agui_middleware.config.routes import Route
    from agui_middleware.config.settings import Settings

_ALL_LOOKED_AT: Final = 100


class AGUIMiddleware:
    """Wraps an ASGI app that serves AG-UI over Server-Sent Events: every client gets a stream that it reads.

    With keyword arguments for one route, no path and no method is looked at, so that one endpoint can be wrapped:

        Route("/agent", AGUIMiddleware(endpoint, visibility="hidden"))
        app.add_middleware(AGUIMiddleware, default_client="0.0.58")

    - `app`: an ASGI app, or an endpoint function that takes a Starlette request and returns a response.
    - `visibility`, `legacy_visibility`, `filters`, `client`, `default_client`, `keep_alive`, `interrupts`,
      `history_without_subagents`: as in `agui_middleware.Route`. The other settings come from the environment and from
      files.
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

    Raises `TypeError` where `app` is neither, where `settings` are not `Settings` or stand beside options of a route, and
    where one of these functions cannot be called, or is a coroutine function, which nobody would await. Raises `ValueError`
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

        _require_plain(identify=identify, on_plan=on_plan, on_loss=on_loss, owner=owner, on_restore=on_restore)
        one = _one_route(settings, route) if route else None
        if not isinstance(settings, Settings | None):
            raise TypeError(f"settings: expected Settings, got {settings!r}")
        self.app: ASGIApp = as_app(app)
        self.settings: Settings = Settings.load() if settings is None else settings
        routes = self.settings.routes if one is None else [one]
        dialect = self.settings.interrupts
        self._plans = Plans(routes, named_filters or {}, reads_paths=one is None, interrupts=dialect)
        self._reports = Reports()
        self._clients = Clients(self._plans.routes, self.settings, identify, self._reports)
        varies = identify is None
        self._turns = TurnMaker(self.settings, history, owner, self._reports, on_restore)
        hooks, has_history = (on_plan, on_loss), self._turns.has_store
        self._streams = Streams(self.settings, self._reports, *hooks, varies, has_history)
        self._faults = FaultWatch(self._reports.producer_fault, self.settings.max_event_bytes)
        self._warn = self.settings.warn
        self._frames = self.settings.fix_framing or self._plans.routing.hides
        self._watches = identify is None and "default_client" not in self.settings.model_fields_set
        self._unnamed = 0  # responses to clients that nobody has named

    @property
    def history_failures(self) -> int:
        """How often the store of the history could not be read or written, for metrics. The runs went on without."""
        return self._reports.history_failures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        of_route = self._plans.find(scope) if scope["type"] == "http" else None
        if of_route is None:
            await self.app(scope, receive, self._turns.closing(send) if scope["type"] == "lifespan" else send)
            return
        client, certain = self._clients.of(of_route.number, scope)
        plan = of_route.plan(client)
        decision = Decision(self._plans, of_route, plan, certain, scope)
        scope.setdefault("state", {})[STATE] = decision.choice  # where servers and Starlette keep the request's own
        # A route that hides may be what has answered in the end: the framework may say so.
        if certain and not self._frames and not plan.rewrites:
            await self.app(scope, receive, send)
            return
        if self._watches and certain and client is None and not of_route.names_client and self._is_sampled():
            decision.unnamed, certain = True, False
            send = watch_for_rejected_events(send, decision, self._report_rejected)
        incoming = receive if certain else decision.listen(receive, self.settings.max_event_bytes)
        turn = self._turns.of(decision, plan)
        needs_input = plan.composition.needs_input and is_plain_json(scope.get("headers", ()))
        if turn is not None or needs_input:
            rewrite, limit = as_posted if turn is None else turn.read, self.settings.max_request_bytes
            posted = PostedInput(decision.inner, incoming, limit, rewrite, needs_input)
            await posted.read()
            decision.inner, incoming, decision.posted = posted.scope, posted.receive, posted if needs_input else None
            turn = turn if turn is not None and turn.keeps else None
            send = send if turn is None else turn.sender(send)
        app = self._faults.watch(self.app, of_route) if self._warn else self.app
        if turn is not None:
            self._turns.begin(turn)
        try:
            await Responder(self._streams, decision, turn, incoming, send).run(app, decision.inner)
        finally:
            if not certain:
                decision.freeze()
            decision.posted = None  # it leads to the turn, and that back here: the garbage collector would have to come
            if turn is not None:
                await self._turns.end(turn)

    def _is_sampled(self) -> bool:
        """Whether to look for events that older releases reject: in the first responses, then in one of sixteen, since it
        costs each event of such a response a third of what passing costs.
        """
        self._unnamed += 1
        return self._unnamed <= _ALL_LOOKED_AT or self._unnamed % 16 == 0

    def _report_rejected(self, type: str) -> None:
        self._watches = False  # once is enough: it looks at every chunk
        self._reports.rejected_event(type)


def _require_plain(**hooks: object) -> None:
    """Raise `TypeError` for what cannot be called, and for a coroutine function: nobody would await what it returns, and it
    would never run.
    """
    for name, hook in hooks.items():
        if hook is not None and not callable(hook):
            raise TypeError(f"{name}: expected a function, got {hook!r}")
        call = getattr(hook, "__call__", None)  # noqa: B004  # the method itself is asked for, not whether there is one
        if inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(call):
            raise TypeError(f"{name}: expected a function that returns its result, got a coroutine function, {hook!r}")


def _one_route(settings: object, options: RouteOptions) -> "Route":
    """The route of a middleware that has one. Raises `TypeError` where there are settings besides, or a field too many."""
    from agui_middleware.config.routes import Route
    from agui_middleware.config.spelling import did_you_mean

    given = ", ".join(options)
    if settings is not None:
        raise TypeError(
            f"give either settings= or options of one route ({given}), which Route takes in settings.routes"
        )
    unknown = [name for name in options if name not in RouteOptions.__annotations__]
    if unknown:
        allowed = ", ".join(RouteOptions.__annotations__)
        raise TypeError(
            f"{', '.join(unknown)}: no such option; allowed: {allowed}; "
            "paths and everything else are for settings=Settings(routes=[Route(...)], ...)"
            + did_you_mean(unknown[0], RouteOptions.__annotations__)
        )
    if isinstance(options.get("filters"), Mapping):
        raise TypeError("filters= are the filters of one route, in order; those that routes name are named_filters=")
    return Route(**options)  # type: ignore[arg-type]  # validated there
