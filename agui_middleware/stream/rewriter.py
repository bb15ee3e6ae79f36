"""One stream through one plan, synchronously: bytes in, bytes out. No ASGI."""

import logging

from agui_middleware.config.plan import Plan
from agui_middleware.filters.contract import Context
from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.protocol.errors import WIRE_FAULTS, EventTooLarge
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.stream.chain import NOT_KEPT, Chain
from agui_middleware.stream.frames import frames_of, on_one_line
from agui_middleware.stream.repeated import Repeated
from agui_middleware.stream.sniffer import Sniffer, StrictSniffer
from agui_middleware.stream.sse import Comment, Decoder, Fields, Frame, Item, UnknownField, encode, encode_comment

_RUN_BOUNDS = frozenset({"RUN_STARTED", "RUN_ERROR"})


class Rewriter:
    """Decodes, filters and encodes one stream.

    Call `feed` any number of times, `finish` if the stream has ended, and `close` in any case. None of them raises for an
    error of a filter or of the stream. Such an error ends the stream: all of its output, RUN_ERROR included, has been
    returned, `ended` is true, and `failure` has the error: that of a filter, `MalformedEvent` or `EventTooLarge`.

    `sniff`: the stream may not be AG-UI, see `Sniffer`. `verify`: see `Settings.debug`. `log` is shared by many streams.
    Filters of the plan that may await come before this: `AsyncRewriter` runs them, and calls `read`, `push`, `fail` and
    `written` in place of `feed`.
    """

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
        self._rewrites = plan.rewrites
        self._hides = plan.hides
        self._comments = plan.reads_comments
        self._verify = verify
        self._log = log or RateLimitedLog(logging.getLogger("agui_middleware.stream"))
        self.decoder: Decoder = Decoder(max_event_bytes)
        self.chain: Chain = Chain(plan.composition, context, self._emit)
        sniffer = StrictSniffer if plan.hides else Sniffer
        self.sniffer: Sniffer | None = sniffer(self.decoder, max_event_bytes, plan.reads_comments) if sniff else None
        self.passthrough: bool = False  # the stream is not AG-UI, and passes as it comes
        self._unsettled = sniff  # either of the two
        self._is_first = plan.rewrites or sniff  # nothing was fed yet
        self._out: list[bytes | Event] = []  # frames; and events that have SSE fields, see `frames_of`
        self._repeated = Repeated(max_event_bytes)
        self._errored = False  # the last run ended with RUN_ERROR; behind it a client reads only another run

    @property
    def ended(self) -> bool:
        """Whether the stream takes no more bytes."""
        return self.chain.ended

    @property
    def failure(self) -> Exception | None:
        """The error that ended the stream, if one did."""
        return self.chain.failure

    @property
    def settled(self) -> bool:
        """Whether the stream is known to be AG-UI, so that the output consists of whole frames."""
        return not self._unsettled

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes, and return the output for them, without the events that filters hold back.

        A chunk in which nothing changes is returned as the same object.
        """
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
        if not self._rewrites:
            return chunk
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
            kept, keep = self.chain.kept
            self._repeated.learn(chunk, event, written if kept is None else b"data: %b\n\n" % kept.raw, keep)
        return written

    def finish(self, complete: bool = True) -> bytes:
        """Return the rest of the output, once the stream has ended: an event without its blank line, and what filters hold.

        If the stream is not `complete` (it broke off), the last event may be cut in half, and is left out.
        """
        passed = b""
        if self.sniffer is not None:
            if not complete:
                return b""
            passed = self.sniffer.finish()
            if self.sniffer.verdict:
                self._take(self.decide())
            else:
                self.pass_through()
        if not self.passthrough:
            if complete and not self.decoder.idle:
                self._take(self.decoder.finish())
            if not self.ended:
                self.chain.finish()
        return passed + self.written()

    def close(self) -> None:
        """Unwind the filters."""
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

    def written(self) -> bytes:
        """Return the output since the last call."""
        out = self._out
        if not out:
            return b""
        self._out = []
        return b"".join(frames_of(out))

    def decide(self) -> list[Item]:
        """Treat the stream as AG-UI, and return the items decoded so far."""
        assert self.sniffer is not None  # asked by the caller
        items, self.sniffer = self.sniffer.items, None
        self._unsettled = False
        return items

    def pass_through(self) -> None:
        """Treat the stream as another protocol: all of it passes as it comes."""
        self.passthrough, self.sniffer = True, None

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
            if self.ended:
                return
            try:
                event = self.read(item)
            except WIRE_FAULTS as error:
                self.chain.fail(error)
                return
            if event is not None:
                self.chain.push(event)

    def _read_data(self, data: bytes | None, fields: Fields | None) -> Event | None:
        if data is None or (data[:1] != b"{" and data.lstrip(b" \t\n")[:1] != b"{"):
            # Not an event at all: an empty frame, `[DONE]`, an old sse-starlette ping. Fatal as data, harmless as a comment.
            bare = data is not None or self._hides
            self._comment(encode_comment() if bare else encode(None, fields))
            self._skip(data or b"")
            return None
        line = on_one_line(data)
        if not self._rewrites:
            self._out.append(encode(line, fields))
            return None
        try:
            return Event.parse(line, fields)
        except MalformedEvent as error:
            self._log.warning("malformed", "an event could not be read: %s", error)
            if self._hides:
                raise
            self.chain.let_go()
            if not self.ended:
                self._out.append(encode(data, fields))
            return None

    def _comment(self, frame: bytes) -> None:
        """Write a frame without data, unless the client would take it for an error."""
        if self._comments:
            self._out.append(frame)

    def _skip(self, line: bytes) -> None:
        """Ignore a line that every client skips, unless it may be a piece of an event that named an owner."""
        if self._hides and b"{" in line:
            raise MalformedEvent("a torn event")

    def _emit(self, event: Event) -> None:
        type = event.head.type
        if type == "RUN_ERROR":
            if self._errored and self.failure is not None:
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
        if self._unsettled:
            return self._sniff(chunk)
        self._is_first = False
        if chunk.find(b"RUN_STARTED") < 0:
            return self.feed(chunk)
        self._take(self.decoder.feed(chunk))
        written = self.written()
        return chunk if written == chunk else written

    def _sniff(self, chunk: bytes) -> bytes:
        if self.sniffer is None:
            return chunk
        passed = self.sniffer.feed(chunk)
        if self.sniffer.verdict is False:
            self.pass_through()
        elif self.sniffer.verdict:
            self._take(self.decide())
            return passed + self.written()
        return passed
