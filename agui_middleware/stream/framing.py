"""One stream whose events pass as they are, synchronously: bytes in, bytes out. Its frames are made readable."""

from typing import Final

from agui_middleware.config.plan import Plan
from agui_middleware.protocol.errors import EventTooLarge, run_error
from agui_middleware.protocol.event import Event
from agui_middleware.stream.frames import frames_of, on_one_line
from agui_middleware.stream.outcome import Outcome
from agui_middleware.stream.sniffer import Sniffer, StrictSniffer
from agui_middleware.stream.sse import Comment, Decoder, Fields, Frame, Item, TooLarge, encode, encode_comment

_GOES_ON: Final = Outcome()


class Framing:
    """Decodes and encodes the frames of one stream. `Rewriter` does the same, and filters the events.

    Call `feed` any number of times, `finish` if the stream has ended, and `close` in any case. None of them raises for an
    error of a filter or of the stream. Such an error ends the stream: all of its output, RUN_ERROR included, has been
    returned, `ended` is true, and `failure` has the error: that of a filter, `MalformedEvent` or `EventTooLarge`.

    `sniff`: the stream may not be AG-UI, see `Sniffer`. It is `settled` once it is known to be, so that the output consists
    of whole frames.
    """

    __slots__ = ("_comments", "_out", "decoder", "outcome", "passthrough", "settled", "sniffer")

    def __init__(self, plan: Plan, max_event_bytes: int, *, sniff: bool = False) -> None:
        self.decoder: Decoder = Decoder(max_event_bytes)
        self.outcome: Outcome = _GOES_ON
        self.passthrough: bool = False  # the stream is not AG-UI, and passes as it comes
        self.settled: bool = not sniff
        self.sniffer: Sniffer | None = None
        self._comments = plan.reads_comments
        self._out: list[bytes | Event] = []  # frames; and events that have SSE fields, see `frames_of`
        if sniff:
            sniffer = StrictSniffer if plan.hides else Sniffer
            self.sniffer = sniffer(self.decoder, max_event_bytes, plan.reads_comments)

    @property
    def ended(self) -> bool:
        """Whether the stream takes no more bytes."""
        return self.outcome.ended

    @property
    def failure(self) -> Exception | None:
        """The error that ended the stream, if one did."""
        return self.outcome.failure

    def take_failure(self) -> Exception | None:
        """Return `failure`, and forget it: its traceback refers back to this stream, which would be a reference cycle."""
        failure, self.outcome.failure = self.outcome.failure, None
        return failure

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes, and return the output for them, without the events that filters hold back.

        A chunk in which nothing changes is returned as the same object.
        """
        if not self.settled:
            return self._sniff(chunk)
        if self.decoder.one_frame(chunk) is not None:
            return chunk
        self._take(self.decoder.feed(chunk))
        return self.written()

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
            self._finish_filters()
        return passed + self.written()

    def close(self) -> None:
        """Unwind the filters."""

    def read(self, item: Item) -> Event | None:
        """Write an item, or return the event in it, for filters to read: there are none here."""
        if type(item) is Frame:
            if item.data is None or not may_be_event(item.data):
                self._comment(without_data(item.data, item.fields))
            else:
                self._out.append(encode(on_one_line(item.data), item.fields))
        elif type(item) is Comment:
            self._comment(encode_comment(item.text))
        elif type(item) is TooLarge:
            error = EventTooLarge()
            self.outcome = Outcome(error)
            self._out.append(encode(run_error(error).raw))
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
        self.settled = True
        return items

    def pass_through(self) -> None:
        """Treat the stream as another protocol: all of it passes as it comes."""
        self.passthrough, self.sniffer = True, None

    def _take(self, items: list[Item]) -> None:
        for item in items:
            self.read(item)

    def _comment(self, frame: bytes) -> None:
        """Write a frame without data, unless the client would take it for an error."""
        if self._comments:
            self._out.append(frame)

    def _finish_filters(self) -> None:
        """There are none here."""

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


def may_be_event(data: bytes) -> bool:
    """Whether the data of a frame may be an event: an empty frame is none, nor `[DONE]`, nor an old sse-starlette ping."""
    return data[:1] == b"{" or data.lstrip(b" \t\n")[:1] == b"{"


def without_data(data: bytes | None, fields: Fields | None) -> bytes:
    """What is written for a frame that is no event: data would be fatal, and a comment is harmless."""
    return encode_comment() if data is not None or fields is None else encode(None, fields)
