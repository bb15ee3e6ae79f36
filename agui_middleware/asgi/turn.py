"""One turn of a conversation: the posted history on its way in, and what the response could not give, kept for the next."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import anyio
from starlette.types import Message, Scope, Send

from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.reports import Reports
from agui_middleware.config.plan import Plan, Restoration
from agui_middleware.filters.contract import Context
from agui_middleware.history.answers import as_command, as_resume, with_announced_value
from agui_middleware.history.capture import Capture
from agui_middleware.history.echo import Echo
from agui_middleware.history.known_ids import with_known_ids
from agui_middleware.history.merge import restore
from agui_middleware.history.open_interrupts import OpenInterrupts
from agui_middleware.history.record import Kept
from agui_middleware.history.threads import Record, StoreUnavailable, Threads, thread_key
from agui_middleware.history.upgrade import upgraded
from agui_middleware.history.without_subagents import history_without_subagents
from agui_middleware.protocol.json_object import MalformedEvent
from agui_middleware.protocol.owned import Owned
from agui_middleware.protocol.posted import Posted
from agui_middleware.stream.framing import Framing
from agui_middleware.stream.witnessed import Witness, WitnessedRewriter

if TYPE_CHECKING:
    from agui_middleware.config.routes import Route


_MOST_WRITTEN: Final = 16
"""How often a response is kept at the ends of its runs: each time costs as much as the whole conversation."""


class Turn:
    """What happens to the conversation of one request.

    `threads`: where it is kept, `None` for nowhere. `on_restore` is called with the ASGI scope and what was put back, if
    anything was.
    """

    def __init__(
        self,
        decision: Decision,
        threads: Threads | None,
        owner: str | None,
        reports: Reports,
        on_restore: Callable[[Scope, Restoration], None],
    ) -> None:
        self._decision = decision
        self._route: Route = decision.choice.route
        self._threads = threads
        self._owner = owner
        self._reports = reports
        self._on_restore = on_restore
        self._key = ""
        self._posted: Posted | None = None  # upgraded; None: nothing is kept of this response
        self._given: Posted | None = None
        self._record: Record | None = None
        self._is_known = False  # it, or that there is none: the store has answered
        self._capture: Capture | None = None
        self._interrupts: OpenInterrupts | None = None
        self._context: Context | None = None
        self._rewriter: WitnessedRewriter | None = None
        self._hides = False
        self._kept = False
        self._written = 0  # how often

    @property
    def keeps(self) -> bool:
        """Whether anything is kept of the response. If not, the turn is over once the body has been read."""
        return self._threads is not None

    async def read(self, body: bytes) -> bytes:
        """The body of the request for the agent: upgraded and restored. The very same bytes where nothing changes."""
        try:
            before = Posted.read(body)
            if before is None:
                return body
            posted = upgraded(before, self._decision.choice.plan.named_client)
            if not posted.is_run_input:
                return body
            given = await self._restored(posted)
            if self._route.history_without_subagents:
                given = history_without_subagents(given)
            given = self._answered(given)
        except MalformedEvent:
            return body
        return body if given is before else given.raw

    def witness(self, plan: Plan, context: Context) -> Witness | None:
        """The observer of the response; `None` if nothing of it is kept.

        Nothing is kept either if the framework says that another route, which hides, has answered: its threads are
        others.
        """
        posted, given = self._posted, self._given
        if posted is None or given is None or self._threads is None or plan.hides != self._hides:
            return None
        kept, owned, _ = self._record or (None, Owned(), None)
        self._threads.begin(self._key, self._so_far)
        self._context = context
        if self._is_known:
            context._earlier = owned
        limit = max(context.budget.limit, 4 * self._threads.bounds.limit)
        self._capture = Capture(given, posted, kept, plan.named_client, limit)
        self._interrupts = interrupts = OpenInterrupts(plan.interrupts)
        as_posted = Echo(posted, given).as_posted
        return Witness(self._capture, as_posted, interrupts.agent_sent, interrupts.client_got)

    def follow(self, rewriter: Framing) -> None:
        """Keep what there is to keep of the stream that goes through `rewriter`."""
        self._rewriter = rewriter if isinstance(rewriter, WitnessedRewriter) else None

    def sender(self, send: Send) -> Send:
        """`send`, which keeps the conversation before the end of a run leaves: the client may post its next turn at once.

        Behind many runs of one response only its own end counts.
        """

        def send_kept(message: Message) -> Awaitable[None]:
            rewriter = self._rewriter
            if rewriter is None or message["type"] != "http.response.body":
                return send(message)
            run_ended = rewriter.run_ended and self._written < _MOST_WRITTEN
            if run_ended or not message.get("more_body", False):
                return self._keep_and_send(send, message)
            self._kept = False
            return send(message)

        return send_kept

    async def keep(self) -> None:
        """Write what is to be kept, unless that has been done; within the store's time, whatever has ended the response."""
        threads, rewriter = self._threads, self._rewriter
        if self._kept or self._capture is None or threads is None or rewriter is None:
            return
        self._kept, rewriter.run_ended = True, False
        self._written += 1
        record = self._so_far()
        if record is None:
            return
        try:
            with anyio.CancelScope(shield=True):
                await threads.write(self._key, record, self._record)
        except StoreUnavailable as error:
            self._reports.store_unavailable("written", error)
        except BaseException:
            # asyncio's own cancellation, which no scope keeps off; the end of the response tries again.
            self._kept = False
            raise

    async def end(self) -> None:
        """The response has ended, however: keep what is left to keep."""
        try:
            await self.keep()
        finally:
            assert self._threads is not None  # it `keeps` something
            self._threads.end(self._key, self._so_far)

    def _so_far(self) -> Record | None:
        """What there is to keep of the response so far; `None`: nothing."""
        kept = None if self._capture is None else self._capture.finish()
        owned = self._owned()
        open = None if self._interrupts is None else self._interrupts.open
        if not open and (self._record is None or not self._record.open):
            open = None  # none waits, and none did
        return None if kept is None and not owned and open is None else Record(kept or Kept(), owned, open)

    async def _keep_and_send(self, send: Send, message: Message) -> None:
        await self.keep()
        await send(message)

    async def _restored(self, posted: Posted) -> Posted:
        """The conversation with what `client` could not be given, where anything is kept for it."""
        plan, threads = self._decision.choice.plan, self._threads
        if threads is None or not (plan.takes_away or plan.interrupts):
            return posted
        thread = posted.thread
        if thread is None:
            return posted
        self._key = thread_key(self._owner, self._route.path, thread)
        self._posted = self._given = posted
        self._hides = plan.hides
        try:
            self._record = await threads.read(self._key)
            self._is_known = True
        except StoreUnavailable as error:
            self._reports.store_unavailable("read", error)
        if self._record is None:
            return posted
        posted = self._posted = with_known_ids(posted, self._record.kept, plan.named_client)
        restored = restore(posted, self._record.kept, plan.named_client)
        self._given = restored.posted
        if restored.restoration is not None:
            self._decision.choice.restored = restored.restoration
            self._on_restore(self._decision.scope, restored.restoration)
        return restored.posted

    def _answered(self, posted: Posted) -> Posted:
        """The conversation with the answer to a paused run in the agent's dialect."""
        dialect = self._decision.choice.plan.interrupts
        known = [] if self._record is None else self._record.open or []
        posted = with_announced_value(posted, known)
        known = [each for each in known if not each.is_announced_only]
        if dialect == "outcome":
            return as_command(posted, known)
        if dialect is None:
            return posted
        answered, unaddressed = as_resume(posted, known, datetime.now(UTC))
        if unaddressed:
            self._reports.unaddressed_answer(self._route.path)
        return answered

    def _owned(self) -> Owned:
        ownership = None if self._context is None else self._context._ownership
        if ownership is None or self._posted is None:
            return Owned()
        return ownership.owned({head.id for head, _ in self._posted.messages if head.id is not None})
