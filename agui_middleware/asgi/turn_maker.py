"""Which requests' conversations are read and kept, where, and for whom."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
from starlette.types import Message, Scope, Send

from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.posted_input import is_readable
from agui_middleware.asgi.reports import Reports
from agui_middleware.config.plan import Plan, Restoration

if TYPE_CHECKING:
    from agui_middleware.asgi.turn import Turn
    from agui_middleware.config.settings import Settings
    from agui_middleware.history.store import Store
    from agui_middleware.history.threads import Threads

History: TypeAlias = "Store | str | Literal[False] | None"
Owner: TypeAlias = Callable[[Scope], str | None]


class TurnMaker:
    """Makes the turns of one middleware. `history`: a store or its URL in place of the settings', `False` for none.

    Raises `ValueError` and `TypeError` where that is none, or where a package is missing. What merges conversations is
    imported with the first request that needs it: it takes as long as half of the package.
    """

    def __init__(
        self,
        settings: "Settings",
        history: History,
        owner: Owner | None,
        reports: Reports,
        on_restore: Callable[[Scope, Restoration], None] | None,
    ) -> None:
        self._owner = owner
        self._reports = reports
        self._on_restore = on_restore
        self._threads = _threads(settings, settings.history if history is None else history)
        self._patience = settings.history_timeout
        self._open: set[Turn] = set()
        self._all_ended: anyio.Event | None = None  # where a shutdown waits for it

    @property
    def has_store(self) -> bool:
        """Whether conversations are kept."""
        return self._threads is not None

    def of(self, decision: Decision, plan: Plan) -> "Turn | None":
        """The turn of a request; `None` where its body is not to be read, since nothing in it can change."""
        route, threads = decision.choice.route, self._threads
        speaks = plan.interrupts is not None
        keeps = threads is not None and route.history and (plan.takes_away or speaks)
        if not (keeps or speaks or plan.posts_otherwise or route.history_without_subagents):
            return None
        if not is_readable(decision.scope):
            return None
        from agui_middleware.asgi.turn import Turn

        owner, is_known = self._owned_by(decision.scope) if keeps else (None, False)
        return Turn(decision, threads if is_known else None, owner, self._reports, self._restored)

    def _restored(self, scope: Scope, restoration: Restoration) -> None:
        if self._on_restore is not None:
            self._reports.notify("on_restore", self._on_restore, scope, restoration)

    def begin(self, turn: "Turn") -> None:
        """The response of a turn is about to begin; `end` follows in any case."""
        self._open.add(turn)

    async def end(self, turn: "Turn") -> None:
        """Write what is to be kept of a turn whose response has ended."""
        try:
            await turn.end()
        finally:
            self._open.discard(turn)
            if self._all_ended is not None and not self._open:
                self._all_ended.set()

    def closing(self, send: Send) -> Send:
        """The `send` of a lifespan, which closes the store before the server hears that the app has shut down.

        Responses that the server has just cancelled are written first: uvicorn does so when its time for a graceful shutdown
        is over, and is gone as soon as it hears that.
        """

        async def send_closed(message: Message) -> None:
            if message["type"].startswith("lifespan.shutdown"):
                await self._wait_for_open_turns()
                await self.close()
            await send(message)

        return send_closed if self._threads is not None else send

    async def _wait_for_open_turns(self) -> None:
        """For as long as a write may take: a response that was not cancelled may go on for ever."""
        if self._open:
            self._all_ended = anyio.Event()
            with anyio.move_on_after(self._patience):
                await self._all_ended.wait()

    async def close(self) -> None:
        """Close the store."""
        if self._threads is None:
            return
        try:
            await self._threads.close()
        except Exception as error:
            self._reports.store_unavailable("closed", error)

    def _owned_by(self, scope: Scope) -> tuple[str | None, bool]:
        """The owner of a request's thread, and whether that is known."""
        if self._owner is None:
            return None, True
        try:
            owner: object = self._owner(scope)
        except Exception as error:
            self._reports.hook_failed("owner", error)
            return None, False
        if owner is None:
            return None, True
        if isinstance(owner, str):
            return str.__str__(owner), True  # a subclass that masks itself in logs would be the same for all users
        self._reports.hook_failed(
            "owner", TypeError(f"`owner` returned a {type(owner).__name__}, not a string or None")
        )
        return None, False


def _threads(settings: "Settings", history: object) -> "Threads | None":
    if history is None or history is False:
        return None
    from agui_middleware.history.store import Store
    from agui_middleware.history.stores import in_use, opener
    from agui_middleware.history.threads import Bounds, Threads

    bounds = Bounds(settings.history_timeout, settings.history_ttl.total_seconds(), settings.history_limit)
    if isinstance(history, str):
        from pydantic import TypeAdapter

        from agui_middleware.config.fields import StoreURL

        url = TypeAdapter[str](StoreURL).validate_python(history)
        open = opener(url, timeout=bounds.timeout, memory_limit=settings.history_memory_limit)
        return Threads(open, bounds)
    if not isinstance(history, Store):
        raise TypeError(f"history: expected a store with `get` and `put`, or the URL of one, got {history!r}")
    return Threads(in_use(history), bounds)
