"""What the middleware chose for one request, for the app and for hooks to look at."""

from collections.abc import Callable
from typing import Final

from agui_middleware.client import ClientVersion
from agui_middleware.plan import Plan
from agui_middleware.settings import Route

STATE: Final = "agui"


class Choice:
    """The choice for one request. To the app it is `request.state.agui`, which is `scope["state"]["agui"]`.

    `route` is the one that matched.
    """

    __slots__ = ("_choose", "_settled", "route")

    def __init__(self, route: Route, plan: Plan, choose: Callable[[], Plan]) -> None:
        self.route: Route = route
        self._settled = plan
        self._choose: Callable[[], Plan] | None = choose

    @property
    def plan(self) -> Plan:
        """What happens to the response. Until it starts, the request's body may name a newer client than was assumed, once
        the app has read it.
        """
        return self._settled if self._choose is None else self._choose()

    @property
    def client(self) -> ClientVersion | None:
        """The release that reads the response; `None`: one that reads everything."""
        return self.plan.client

    def settle(self) -> Plan:
        """What is known by now is what happens."""
        self._settled = self.plan
        self._choose = None  # it leads to the scope, in which the choice may be for as long as somebody keeps it
        return self._settled
