"""What the responses of one middleware share, and the stream that each of them gets."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import Scope

from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.keep_alive import KeepAlive, Timers
from agui_middleware.asgi.reports import Reports
from agui_middleware.config.plan import Choice, Plan
from agui_middleware.filters.contract import Context, Loss
from agui_middleware.protocol.owned import UNKNOWN
from agui_middleware.stream.async_rewriter import AsyncRewriter, Write, make_rewriter
from agui_middleware.stream.framing import Framing

if TYPE_CHECKING:
    from agui_middleware.asgi.turn import Turn
    from agui_middleware.config.routes import Route
    from agui_middleware.config.settings import Settings


class Streams:
    """Chooses the plan of a response that is an event stream, makes its stream, and reports what is lost in it.

    `settings`, `on_plan` and `on_loss` are those of `AGUIMiddleware`. `varies`: the request's headers decide.
    `has_history`: there is a store of conversations.
    """

    def __init__(
        self,
        settings: "Settings",
        reports: Reports,
        on_plan: Callable[[Scope, Choice], None] | None,
        on_loss: Callable[[Loss], None] | None,
        varies: bool,
        has_history: bool,
    ) -> None:
        self.reports: Reports = reports
        self.timers: Timers = Timers(reports.ping_failed)
        self.never: KeepAlive = KeepAlive()
        """For a response that is not a stream, or not yet: it never writes."""
        self._limit = settings.max_event_bytes
        self._debug = settings.debug
        self._warn = settings.warn
        self._keep_alive = settings.keep_alive
        self._on_plan = on_plan
        self._on_loss = on_loss
        self._has_history = has_history
        self._headers = tuple(settings.headers) if varies else ()

    def vary(self, route: "Route") -> tuple[str, ...]:
        """The names of the request headers that decide for a route."""
        return self._headers if route.client is None else ()

    def silence(self, route: "Route") -> float:
        """After how many seconds of it a response of a route gets a comment; 0 for never."""
        return self._keep_alive if route.keep_alive is None else route.keep_alive

    def choose(self, decision: Decision) -> Plan:
        """The plan of a response that starts as an event stream: what names the client may have come with the body."""
        plan = decision.freeze_for_stream()
        if plan.hides and not decision.of_route.is_meant:
            self.reports.unnamed_path(decision.scope)
        if self._on_plan is not None:
            self.reports.notify("on_plan", self._on_plan, decision.scope, decision.choice)
        return plan

    def make(
        self, decision: Decision, turn: "Turn | None", plan: Plan, write: Write, sniff: bool
    ) -> Framing | AsyncRewriter:
        """The stream of a plan, which is told to `turn`; where its filters may await, it writes to `write`. `sniff`: it may
        not be AG-UI.
        """
        limit, sniff = self._limit, sniff or decision.of_route.may_be_foreign
        if turn is None and not plan.rewrites:
            return Framing(plan, limit, sniff=sniff)
        input, route = None if decision.posted is None else decision.posted.input, decision.choice.route
        context = Context(plan.client, route.path, decision.scope, self._report_loss, limit, plan.reader_name, input)
        witness = None if turn is None else turn.witness(plan, context)
        if plan.hides and self._has_history and route.history and context._earlier is None:
            # A client may post what the app reads and the middleware does not, and a store may be down: fail closed.
            context._earlier = UNKNOWN
        verify, log = self._debug, self.reports.stream
        rewriter = make_rewriter(plan, context, limit, witness, sniff=sniff, verify=verify, log=log)
        if turn is not None:
            turn.follow(rewriter)
        awaiting = plan.composition.awaiting
        return AsyncRewriter(rewriter, awaiting, context, write) if awaiting else rewriter

    def _report_loss(self, loss: Loss) -> None:
        if self._warn:
            self.reports.loss(loss)
        if self._on_loss is not None:
            self.reports.notify("on_loss", self._on_loss, loss)
