"""What is decided for one request: from its head, then from its body, and at last from what the framework has made of it."""

from typing import TYPE_CHECKING

from starlette.types import Receive, Scope

from agui_middleware.asgi.headers import Headers, may_be_events, wants_events
from agui_middleware.asgi.posted_input import PostedInput
from agui_middleware.asgi.request import Body, without_encodings
from agui_middleware.config.advertised import from_body
from agui_middleware.config.plan import Choice, Plan
from agui_middleware.protocol.releases import ClientVersion, nearest_release

if TYPE_CHECKING:
    from agui_middleware.config.plans import Plans
    from agui_middleware.config.route_plans import RoutePlans


class Decision:
    """The route, the reader and the plan of one request, until its response starts.

    `of_route` has the plans of the route that decides. `plan` is that of the reader by the request's head; unless it is
    `certain`, the body may name a newer one. `choice` is what the app sees of it, `inner` the scope that the app is called
    with, `posted` its body, where a filter is to read that. `unnamed`: the head does not name the reader and nobody has
    configured one; the body may still name a protocol version, as releases from 1.0.0 on do.
    """

    __slots__ = ("_body", "_plans", "_root", "choice", "inner", "of_route", "posted", "scope", "unnamed")

    def __init__(self, plans: "Plans", of_route: "RoutePlans", plan: Plan, certain: bool, scope: Scope) -> None:
        self._plans = plans
        self._body: Body | None = None
        self._root: str = scope.get("root_path") or ""
        self.scope: Scope = scope
        self.of_route: RoutePlans = of_route
        self.unnamed: bool = False
        self.posted: PostedInput | None = None
        self.choice: Choice = Choice(of_route.route, plan, None if certain else self._plan)
        asks = (plan.rewrites or not certain) and self._is_for_events()
        self.inner: Scope = without_encodings(scope) if asks else scope

    def listen(self, receive: Receive, limit: int) -> Receive:
        """Learn from the request's body, up to `limit` bytes, what the app reads of it: what names the client may be there.
        Return the app's `receive`.
        """
        self._body = Body(receive, limit)
        return self._body.receive

    def hides(self) -> bool:
        """Whether nothing may leave unread: by the path of the request, or by what the framework says has answered."""
        if self._plans.may_hide and not self.of_route.hides:
            stricter = self._plans.routing.second_opinion(self.inner, self._root)
            if stricter is not None:
                self.of_route = of_route = self._plans.of(stricter)
                self.choice.replace(of_route.route, of_route.plan(self.choice.plan.named_client))
        return self.of_route.hides

    def suspects(self, status: int, headers: Headers) -> bool:
        """Whether a response that may not leave unread may be an event stream, though its type does not say so.

        Clients read a body of any type as events. On a path that no route names, a text is taken for what its type says: the
        path may serve files.
        """
        return may_be_events(status, headers, texts=self.of_route.is_named)

    def freeze(self) -> Plan:
        """Freeze the decision; later information is ignored."""
        plan = self.choice.freeze()
        if self._body is not None:
            self._body.drop()
        return plan

    def freeze_for_stream(self) -> Plan:
        """`freeze`, where an event stream starts: `unnamed` is certain from now on."""
        self.unnamed = self.unnamed and self._spoken() is None
        return self.freeze()

    def _plan(self, assumed: Plan) -> Plan:
        """The plan, now that so much of the body was read."""
        spoken = self._spoken()
        return assumed if spoken is None else self.of_route.plan(nearest_release(spoken))

    def _is_for_events(self) -> bool:
        # Where no route names the path, the app may serve files, whose compression and ranges are not ours to stop.
        named = self._plans.only is None and self.of_route.is_named
        return named or self.scope["method"] == "POST" or wants_events(self.scope.get("headers", ()))

    def _spoken(self) -> ClientVersion | None:
        return None if self._body is None else from_body(self._body.so_far())
