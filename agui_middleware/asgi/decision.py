"""What is decided for one request: from its head, then from its body, and at last from what the framework has made of it."""

from typing import TYPE_CHECKING

from starlette.types import Receive, Scope

from agui_middleware.asgi.headers import Headers, may_be_events, wants_events
from agui_middleware.asgi.posted_input import PostedInput
from agui_middleware.asgi.request import Body, without_encodings
from agui_middleware.config.advertised import from_body
from agui_middleware.config.plan import Choice, Plan
from agui_middleware.config.readers import Reader
from agui_middleware.protocol.releases import ClientVersion, nearest_release

if TYPE_CHECKING:
    from agui_middleware.config.plans import Plans
    from agui_middleware.config.routing import Match


class Decision:
    """The route, the reader and the plan of one request, until its response starts.

    `client` is the reader by the request's head; unless that is `certain`, the body may name a newer one. `choice` is what
    the app sees of it, `inner` the scope that the app is called with, `posted` its body, where that is read. `unnamed`: the
    head does not name the reader and nobody has configured one; the body may still name a protocol version, as releases
    from 1.0.0 on do.
    """

    __slots__ = ("_body", "_certain", "_plans", "_root", "choice", "inner", "match", "posted", "scope", "unnamed")

    def __init__(
        self, plans: "Plans", match: "Match", client: ClientVersion | Reader | None, certain: bool, scope: Scope
    ) -> None:
        self._plans = plans
        self._certain = certain
        self._body: Body | None = None
        self._root: str = scope.get("root_path") or ""
        self.scope: Scope = scope
        self.match: Match = match
        self.unnamed: bool = False
        self.posted: PostedInput | None = None
        plan = plans.plan(match, client)
        self.choice: Choice = Choice(plans.routes[match.route], plan, None if certain else self._plan)
        # Where no route names the path, the app may serve files, whose compression and ranges are not ours to stop.
        named = plans.only is None and plans.is_named(match)
        asks = (plan.rewrites or not certain) and (
            named or scope["method"] == "POST" or wants_events(scope.get("headers", ()))
        )
        self.inner: Scope = without_encodings(scope) if asks else scope

    def listen(self, receive: Receive, limit: int) -> Receive:
        """Learn from the request's body, up to `limit` bytes, what the app reads of it: what names the client may be there.
        Return the app's `receive`.
        """
        self._body = Body(receive, limit)
        return self._body.receive

    def hides(self) -> bool:
        """Whether nothing may leave unread: by the path of the request, or by what the framework says has answered."""
        if not self.match.hides and self._plans.routing.hides and self._plans.only is None:
            stricter = self._plans.routing.second_opinion(self.inner, self._root)
            if stricter is not None:
                self.match = stricter
                plan = self._plans.plan(stricter, self.choice.plan.named_client)
                self.choice.replace(self._plans.routes[stricter.route], plan)
        return self.match.hides

    def suspects(self, status: int, headers: Headers) -> bool:
        """Whether a response may be an event stream that nothing may leave of unread, though its type does not say so.

        Clients read a body of any type as events. On a path that no route names, a text is taken for what its type says: the
        path may serve files.
        """
        return self.hides() and may_be_events(status, headers, texts=self._plans.is_named(self.match))

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
        return assumed if spoken is None else self._plans.plan(self.match, nearest_release(spoken))

    def _spoken(self) -> ClientVersion | None:
        return None if self._body is None else from_body(self._body.so_far())
