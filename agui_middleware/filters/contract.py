"""What a filter is, and what it is told."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

from agui_middleware.protocol.budget import OVERHEAD, Budget
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.owned import Owned
from agui_middleware.protocol.ownership import Ownership
from agui_middleware.protocol.releases import ClientVersion


class Context:
    """What a filter knows of the response that it works on.

    - `client`: the release of @ag-ui/client that reads the stream, `None` for one that reads everything.
    - `route`: the path of the route that matched, as it was configured; `None` outside a server (`rewrite`).
    - `scope`: the ASGI scope of the request, empty outside a server.
    - `reader`: the name of the SDK that reads the stream as that release would, `None` for @ag-ui/client itself.
    - `input`: the RunAgentInput that the client posted, as it came: what an upgrade changes is not in it. It is not to be
      changed. `None` unless a filter of the route is declared with `needs_input`, and where the body is not JSON, not an
      object, compressed, larger than `max_request_bytes`, or not read whole when the response starts; outside a server,
      unless it is given. A member of a wrong type is the client's: look before you use it.
    - `budget`: how much all filters together keep for the response, events and indexes, and how much they may: see `hold`.
    """

    __slots__ = ("_earlier", "_lost", "_on_loss", "_ownership", "budget", "client", "input", "reader", "route", "scope")

    def __init__(
        self,
        client: ClientVersion | None = None,
        route: str | None = None,
        scope: Mapping[str, Any] | None = None,
        on_loss: Callable[["Loss"], None] | None = None,
        max_event_bytes: int = 10 * 1024 * 1024,
        reader: str | None = None,
        input: JsonObject | None = None,
    ) -> None:
        self.client: ClientVersion | None = client
        self.route: str | None = route
        self.scope: Mapping[str, Any] = {} if scope is None else scope
        self.budget: Budget = Budget(max_event_bytes)
        self.reader: str | None = reader
        self.input: JsonObject | None = input
        self._on_loss = on_loss
        # Made for the first loss: most responses have none, and a set takes 216 bytes.
        self._lost: set[str] | None = None
        self._ownership: Ownership | None = None  # what `track_ownership` has learned, for `hidden`; then what that has
        self._earlier: Owned | None = None  # what subagents have opened in earlier responses of the thread

    def lost(self, feature: str, reason: str, fixed_in: str | None = None) -> None:
        """Report that something was removed that the client would have shown: once a response and feature.

        `feature` names what was lost, `reason` says why, `fixed_in` is the first release of @ag-ui/client that
        keeps it, if any. A removal that no client notices is not reported.
        """
        if self._lost is None:
            self._lost = set()
        if feature not in self._lost:
            self._lost.add(feature)
            if self._on_loss is not None:
                self._on_loss(Loss(feature, reason, fixed_in, self))

    @property
    def max_event_bytes(self) -> int:
        """How much all filters together may keep for the response, in bytes."""
        return self.budget.limit

    def hold(self, event: Event) -> None:
        """Count an event that a filter holds back, until it is `release`d: its JSON, and 100 bytes for the objects.

        Raises `EventTooLarge` where all that is kept for this response would exceed `max_event_bytes`. A filter that has
        something open at the client closes it before it lets that out: the client is sent RUN_ERROR. What a filter
        remembers of events that have left, such as their ids, goes into an `Index` over the same budget.
        """
        self.budget.hold(len(event.raw) + OVERHEAD)
        event.forget_decoded()

    def release(self, event: Event) -> None:
        """Count an event no longer."""
        self.budget.release(len(event.raw) + OVERHEAD)


class Loss:
    """One report of `Context.lost`: `feature`, `reason` and `fixed_in` as given there, and the `context`."""

    __slots__ = ("context", "feature", "fixed_in", "reason")

    def __init__(self, feature: str, reason: str, fixed_in: str | None, context: Context) -> None:
        self.feature: str = feature
        self.reason: str = reason
        self.fixed_in: str | None = fixed_in
        self.context: Context = context

    @property
    def fields(self) -> dict[str, str | None]:
        """The report as `route` (its path), `client`, `feature` and `fixed_in`: for log records and metrics."""
        route, client = self.context.route, self.context.client
        return {
            "route": route,
            "client": self.context.reader or (None if client is None else str(client)),
            "feature": self.feature,
            "fixed_in": self.fixed_in,
        }

    def __str__(self) -> str:
        kept = f"; @ag-ui/client {self.fixed_in} and newer keep it" if self.fixed_in else ""
        client = f" for {self.context.reader}" if self.context.reader else ""
        if self.context.client and not client:
            client = f" for @ag-ui/client {self.context.client}"
        return f"lost{client}: {self.feature}: {self.reason}{kept}"


Filter: TypeAlias = Callable[[AsyncIterator[Event], Context], AsyncIterator[Event]]
"""The contract of a filter: an async generator over the events of one response.

    async def without_debug(events, context):
        async for event in events:
            if event.type != "CUSTOM" or event["name"] != "debug":
                yield event

It sees every event of the response in order, one at a time; what it yields goes out before it is given the next one. State
is local variables. It drops by not yielding and splits by yielding twice; it may also yield a mapping or a pydantic model
of ag-ui-protocol. A filter that drops a START event drops what continues, closes and answers it.

- It may await I/O; the stream waits meanwhile, and so does the agent.
- It must not hold a cancel scope, a timeout or a task group across a `yield` or across its source: the frames between the
  two are not its own (anyio's documentation on cancellation says why).
- It must not yield in `finally`: nobody is there to take it, and it is lost, with an error in the log.
- Returning early ends the response; the app sees a disconnect.
- Raising ends the run: the client gets RUN_ERROR with code AGUI_FILTER_ERROR (AGUI_MALFORMED_EVENT for `MalformedEvent`)
  and no text of the exception, the app sees a disconnect, and the exception is raised when the app is done.
"""
