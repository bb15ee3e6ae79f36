"""From a route and a client to the filters of a response, and what was chosen for one request."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agui_middleware.config.readers import Reader
from agui_middleware.downgrades import SUBAGENTS, Downgrade, SdkRow, build_pipeline, downgrades_for, sdk_rows
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.interrupt_outcomes import interrupts_as_outcome
from agui_middleware.filters.subagents import SubagentVisibility, track_ownership
from agui_middleware.protocol.releases import ClientVersion

if TYPE_CHECKING:
    from agui_middleware.config.routes import Route

_INTERRUPTS: Final = "interrupts"  # the row of the downgrades
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

    @property
    def rewrites(self) -> bool:
        """Whether there is anything to do but the framing."""
        return bool(self.composition.filters)


def _header_value(client: ClientVersion | None, reader: Reader | None, visibility: SubagentVisibility) -> str | None:
    rows = downgrades_for(client)
    if not rows and reader is None:
        return None
    return f"client={reader or client}" + (f"; subagents={visibility}" if SUBAGENTS in rows else "")


def make_plan(
    client: ClientVersion | Reader | None,
    visibility: str = "auto",
    legacy_visibility: str = "inline",
    filters: Sequence[Filter] = (),
    interrupts: str = "auto",
) -> Plan:
    """The route's filters, then what the client needs: chunk expansion, visibility, downgrades in their order, the guard.

    `visibility`, `legacy_visibility` and `filters` are as in `Route`, `interrupts` is as in `Settings`. Raises `ValueError`
    where `visibility` is neither `auto` nor a value of `SubagentVisibility`.
    """
    reader = client if isinstance(client, Reader) else None
    release = client.release if isinstance(client, Reader) else client
    also, spared = ((), ()) if reader is None else (reader.rows, reader.spared)
    seen, lowered = _seen(visibility, legacy_visibility, release)
    visible = [] if seen is SubagentVisibility.ATTRIBUTED else [seen.filter()]
    hides = seen is SubagentVisibility.HIDDEN
    before = [track_ownership] if hides and filters else []
    rows: list[Downgrade | SdkRow] = [*downgrades_for(release, also, spared), *sdk_rows(also)]
    dialect = _dialect(interrupts, reads_outcomes=all(row.name != _INTERRUPTS for row in rows))
    posts_otherwise = any(row.upgrade is not None for row in rows)
    asked = [interrupts_as_outcome] if dialect == "outcome" else []
    also = (*also, _INTERRUPTS) if dialect == "custom" else also
    pipeline = build_pipeline(release, visible, lowered=lowered, also=also, spared=spared)
    return Plan(
        client=release,
        visibility=seen,
        composition=Composition([*before, *filters, *asked, *pipeline], foreign=len(before) + len(filters)),
        hides=hides,
        reads_comments=reader is None or reader.comments,
        reader=reader,
        takes_away=bool(filters or visible or reader) or any(row.differences for row in downgrades_for(release)),
        interrupts=dialect,
        lowered=lowered,
        posts_otherwise=posts_otherwise,
        header_value=_header_value(release, reader, seen),
    )


def _seen(visibility: str, legacy: str, release: ClientVersion | None) -> tuple[SubagentVisibility, bool]:
    """What a reader sees of subagents, never more than the route shows, and whether `legacy` has decided that."""
    if visibility not in ("auto", "attributed"):
        return SubagentVisibility(visibility), False
    if SUBAGENTS in downgrades_for(release):
        return SubagentVisibility(legacy), True
    return SubagentVisibility.ATTRIBUTED, False


def _dialect(interrupts: str, *, reads_outcomes: bool) -> Literal["custom", "outcome"] | None:
    """The dialect that interrupts are put into. An agent and a client that both speak the older one need nothing."""
    if interrupts == "custom" or (interrupts == "auto" and not reads_outcomes):
        return "custom"
    return "outcome" if interrupts == "outcome" and reads_outcomes else None


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
