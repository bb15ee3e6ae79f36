"""The plan of a response, and what was chosen for one request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agui_middleware.config.readers import Reader
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.subagents import SubagentVisibility
from agui_middleware.protocol.releases import ClientVersion

if TYPE_CHECKING:
    from agui_middleware.config.routes import Route

STATE: Final = "agui"
"""The key in `scope["state"]` under which the app finds the `Choice`."""


class Plan(NamedTuple):
    """What happens to the response of one route for one client."""

    client: ClientVersion | None
    """The release that reads it, or that the reader reads like; `None`: one that reads everything."""
    visibility: SubagentVisibility
    """What the reader sees of subagents."""
    composition: Composition
    hides: bool
    """The route keeps something from every client: nothing may leave that was not read."""
    rewrites: bool = True
    """Whether there is anything to do but the framing."""
    reads_comments: bool = True
    """It reads a stream with comments of SSE in it. If not, none reaches it, be it the app's own."""
    reader: Reader | None = None
    """The SDK that reads it; `None`: @ag-ui/client."""
    takes_away: bool = False
    """The reader may end with another conversation than the agent's, so that it posts another one."""
    interrupts: Literal["custom", "outcome"] | None = None
    """The dialect that interrupts are put into for the reader, and its answers taken from; `None`: nothing is changed."""
    lowered: bool = False
    """The reader's release cannot read subagents: the route's `legacy_visibility` has decided what it sees of them."""
    posts_otherwise: bool = False
    """What the reader posts is upgraded, by the posted body alone."""
    header_value: str | None = None
    """The value of `x-ag-ui-downgrade`; `None` for a release that nothing is changed for; each SDK has its own rows."""

    @property
    def named_client(self) -> ClientVersion | Reader | None:
        """The SDK that reads it, or the release of @ag-ui/client."""
        return self.reader or self.client

    @property
    def reader_name(self) -> str | None:
        """The reader's name, for logs."""
        return None if self.reader is None else self.reader.name


class Restoration(NamedTuple):
    """What was put back into a posted conversation, since its client could not be given it."""

    thread: str
    """The conversation's `threadId`."""
    messages: tuple[str, ...]
    """The ids of the messages that the client does not hold, results of tool calls included."""
    members: int
    """How many members of messages and calls, such as `subagentRunId`."""
    calls: int
    """How many tool calls, put back or put into the message that they belong to."""
    removed: int
    """How many messages were taken out, since a filter had added them and not the agent."""


class Choice:
    """The choice for one request. To the app it is `request.state.agui`, which is `scope["state"]["agui"]`.

    `route` is the one that decides. `restored` tells what was put back into the posted conversation; `None`: nothing.
    """

    __slots__ = ("_assumed", "_choose", "restored", "route")

    def __init__(self, route: "Route", plan: Plan, choose: Callable[[Plan], Plan] | None) -> None:
        self.route: Route = route
        self.restored: Restoration | None = None
        self._assumed = plan
        self._choose = choose

    @property
    def plan(self) -> Plan:
        """What happens to the response. Until it starts, the request's body may name a newer client than was assumed, once
        the app has read it.
        """
        return self._assumed if self._choose is None else self._choose(self._assumed)

    @property
    def client(self) -> ClientVersion | None:
        """The release that reads the response; `None`: one that reads everything."""
        return self.plan.client

    def replace(self, route: "Route", plan: Plan) -> None:
        """Decide by another route."""
        self.route, self._assumed = route, plan

    def freeze(self) -> Plan:
        """Freeze the plan; later information is ignored."""
        if self._choose is not None:
            self._assumed = self._choose(self._assumed)
            self._choose = None  # it leads to the scope, in which the choice may be for as long as somebody keeps it
        return self._assumed
