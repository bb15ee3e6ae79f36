"""One stream through one plan, synchronously: bytes in, bytes out. No ASGI."""

import logging

from agui_middleware.config.plan import Plan
from agui_middleware.filters.contract import Context
from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.protocol.errors import WIRE_FAULTS, EventTooLarge
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.stream.chain import NOT_KEPT, Chain
from agui_middleware.stream.frames import on_one_line
from agui_middleware.stream.framing import Framing, may_be_event, without_data
from agui_middleware.stream.outcome import Outcome
from agui_middleware.stream.repeated import Repeated
from agui_middleware.stream.sse import Comment, Fields, Frame, Item, UnknownField, encode, encode_comment

_RUN_BOUNDS = frozenset({"RUN_STARTED", "RUN_ERROR"})


class Rewriter(Framing):
    """Decodes, filters and encodes one stream: see `Framing` for the rest.

    `verify`: see `Settings.debug`. `log` is shared by many streams. Filters of the plan that may await come before this:
    `AsyncRewriter` runs them, and calls `read`, `push`, `fail` and `written` in place of `feed`.
    """

    __slots__ = ("_errored", "_hides", "_is_first", "_log", "_repeated", "_verify", "chain")

    def __init__(
        self,
        plan: Plan,
        context: Context,
        max_event_bytes: int,
        *,
        sniff: bool = False,
        verify: bool = False,
        log: RateLimitedLog | None = None,
    ) -> None:
        super().__init__(plan, max_event_bytes, sniff=sniff)
        self._hides = plan.hides
        self._verify = verify
        self._log = log or RateLimitedLog(logging.getLogger("agui_middleware.stream"))
        self.chain: Chain = Chain(plan.composition, context, self._emit)
        self.outcome: Outcome = self.chain
        self._is_first = True  # nothing was fed yet
        self._repeated = Repeated(max_event_bytes)
        self._errored = False  # the last run ended with RUN_ERROR; behind it a client reads only another run

    def feed(self, chunk: bytes) -> bytes:
        """See `Framing.feed`."""
        if self._is_first:
            return self._feed_first(chunk)
        if self._repeated.starts:
            written = self._repeated.rewrite(chunk)
            if written is not None:
                return written
        if self.decoder.one_frame(chunk) is None:
            self._repeated.starts.clear()
            self._take(self.decoder.feed(chunk))
            return self.written()
        # Nearly every server sends an event a chunk, framed as here. What follows is `_take` of that event, but for the
        # lists of items and frames.
        try:
            event = Event.parse(chunk[6:-2])
        except MalformedEvent:
            self._repeated.starts.clear()
            self._take([Frame(chunk[6:-2])])
            return self.written()
        repeats = not self._verify and self.chain.repeats(event.head.type)
        if not repeats:
            self._repeated.starts.clear()
        self.chain.kept = NOT_KEPT
        written = self._rewrite(chunk, event)
        if self.chain.ended:
            self._repeated.starts.clear()
        elif repeats:
            taken, keep = self.chain.kept
            if taken is None:
                self._repeated.learn(chunk, event, written, None)
            elif keep is not None:
                self._repeated.learn(chunk, event, b"data: %b\n\n" % taken.raw, (taken, keep))
        return written

    def close(self) -> None:
        """See `Framing.close`."""
        self.chain.close()

    def read(self, item: Item) -> Event | None:
        """Return the event of an item; `None` where the item is done with.

        Raises `EventTooLarge`, and on a route that hides `MalformedEvent`: the run ends there, see `Chain.fail`.
        """
        if type(item) is Frame:
            return self._read_data(item.data, item.fields)
        if type(item) is Comment:
            # On hidden routes comment text is blanked: it was never inspected.
            self._comment(encode_comment(b"" if self._hides else item.text))
        elif type(item) is UnknownField:
            self._skip(item.line)
        else:
            raise EventTooLarge
        return None

    def _rewrite(self, chunk: bytes, event: Event) -> bytes:
        """Take the event that a chunk consists of through the filters, and return the output."""
        left = self.chain.walk(event)
        if left is None:
            return self.written()
        if not (self._out or self._verify or left.head.type in _RUN_BOUNDS):
            if left is event:
                return chunk
            if left.fields is None:
                try:
                    return b"data: %b\n\n" % left.raw
                except Exception:
                    pass  # a filter put in a value that is not JSON: `leave` meets it again, and handles it
        self.chain.leave(left)
        return self.written()

    def _take(self, items: list[Item]) -> None:
        for item in items:
            if self.chain.ended:
                return
            try:
                event = self.read(item)
            except WIRE_FAULTS as error:
                self.chain.fail(error)
                return
            if event is not None:
                self.chain.push(event)

    def _read_data(self, data: bytes | None, fields: Fields | None) -> Event | None:
        if data is None or not may_be_event(data):
            self._comment(without_data(data, None if self._hides else fields))
            self._skip(data or b"")
            return None
        try:
            return Event.parse(on_one_line(data), fields)
        except MalformedEvent as error:
            self._log.warning("malformed", "an event could not be read: %s", error)
            if self._hides:
                raise
            self.chain.let_go()
            if not self.chain.ended:
                self._out.append(encode(data, fields))
            return None

    def _skip(self, line: bytes) -> None:
        """Ignore a line that every client skips, unless it may be a piece of an event that named an owner."""
        if self._hides and b"{" in line:
            raise MalformedEvent("a torn event")

    def _finish_filters(self) -> None:
        if not self.chain.ended:
            self.chain.finish()

    def _emit(self, event: Event) -> None:
        type = event.head.type
        if type == "RUN_ERROR":
            if self._errored and self.chain.failure is not None:
                return
            self._errored = True
        elif type == "RUN_STARTED":
            self._errored = False
        if self._verify and not event.is_unmutated():
            raise RuntimeError(f"a filter changed a value inside {type} in place; use Event.replace")
        frame = b"data: %b\n\n" % event.raw  # here, where a filter that put in a value that is not JSON is to blame
        self._out.append(frame if event.fields is None else event)

    def _feed_first(self, chunk: bytes) -> bytes:
        """The first bytes, and those of a stream that may not be AG-UI.

        Nearly every stream begins with a RUN_STARTED, for which there is a shorter way than `walk`: see `Chain.push`.
        """
        if not self.settled:
            return self._sniff(chunk)
        self._is_first = False
        if chunk.find(b"RUN_STARTED") < 0:
            return self.feed(chunk)
        self._take(self.decoder.feed(chunk))
        written = self.written()
        return chunk if written == chunk else written
