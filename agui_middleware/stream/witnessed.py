"""A `Rewriter` with an observer, which sees each event of the agent and each event that leaves. The history needs both."""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack

from agui_middleware.config.plan import Plan
from agui_middleware.filters.contract import Context
from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_kind import RUN, Action
from agui_middleware.protocol.event_types import types_that
from agui_middleware.protocol.interrupt_dialects import ON_INTERRUPT
from agui_middleware.stream.repeated import Kept, Repeated, Start
from agui_middleware.stream.rewriter import Rewriter
from agui_middleware.stream.sse import Item

_RUN_STARTS: Final = types_that(lambda kind: kind.about is RUN and kind.action is Action.OPENS)
_RUN_ENDS: Final = types_that(lambda kind: kind.about is RUN and kind.action is Action.CLOSES)
_ANNOUNCES: Final = ON_INTERRUPT.encode()


Taker: TypeAlias = Callable[[bytes], bool]


class Observer(Protocol):
    """Is given each event of a response, before and after the filters. No method may raise."""

    def agent_sent(self, event: Event) -> None:
        """Called with an event as it came."""
        ...

    def client_got(self, event: Event) -> None:
        """Called with an event that leaves."""
        ...

    def passed(self, event: Event) -> None:
        """Called once, in place of both, with an event that leaves as it came."""
        ...

    def replaced(self, event: Event, left: Event) -> None:
        """Called once, in place of both, with an event that came and the one that leaves for it."""
        ...

    def taker(self, token: Event, written: bytes) -> Taker | None:
        """Return what takes the bytes of each token like this one, but for its delta, in place of the other methods.

        It returns whether it has taken the token. `written` is what left for the token, a frame or nothing, and the same
        leaves for these. `None`: each is for the other methods.
        """
        ...


class Witness(NamedTuple):
    """The observer of a `WitnessedRewriter`, and what goes with it."""

    observer: Observer
    edit_start: Callable[[Event], Event]
    """Edits RUN_STARTED, behind the observer and before all filters."""
    agent_sent: Callable[[Event], None] = lambda event: None
    """Is given each event that ends a run or may announce an interrupt, before all filters. It may not raise."""
    client_got: Callable[[Event], None] = lambda event: None
    """Is given each event that ends a run or may announce an interrupt, as it leaves. It may not raise."""


class Options(TypedDict, total=False):
    """The options of a `Rewriter`."""

    sniff: bool
    verify: bool
    log: RateLimitedLog | None


class WitnessedRepeated(Repeated):
    """A `Repeated` of which an observer takes each chunk."""

    __slots__ = ("_taker", "_takers")

    def __init__(self, max_event_bytes: int, taker: Callable[[Event, bytes], Taker | None]) -> None:
        super().__init__(max_event_bytes)
        self._taker = taker
        self._takers: dict[Start, Taker] = {}

    def rewrite(self, chunk: bytes) -> bytes | None:
        """See `Repeated.rewrite`; also `None` for a chunk that the observer does not take like that."""
        written = super().rewrite(chunk)
        return None if written is None or not self._takers[self.start](chunk[6:-2]) else written

    def learn(self, chunk: bytes, event: Event, written: bytes, kept: Kept | None) -> bool:
        """See `Repeated.learn`; the observer gets each token that waits, when it comes and when it leaves."""
        if kept is not None or not super().learn(chunk, event, written, kept):
            return False
        start, take = self.start, self._taker(event, written)
        if take is None:
            del self.starts[start]
            return False
        self._takers = {known: self._takers[known] for known in self.starts if known != start} | {start: take}
        return True


class WitnessedRewriter(Rewriter):
    """A `Rewriter` with a witness. It is a class of its own, so that a rewriter without one pays nothing for it.

    `run_ended`: an event that ends a run has left. The caller may reset it.
    """

    def __init__(
        self, plan: Plan, context: Context, max_event_bytes: int, witness: Witness, **options: Unpack[Options]
    ) -> None:
        super().__init__(plan, context, max_event_bytes, **options)
        self._repeated = WitnessedRepeated(max_event_bytes, witness.observer.taker)
        self._agent_sent = witness.observer.agent_sent
        self._client_got = witness.observer.client_got
        self._passed = witness.observer.passed
        self._replaced = witness.observer.replaced
        self._edit_start = witness.edit_start
        self._follow_agent = witness.agent_sent
        self._follow_client = witness.client_got
        # Not given to the observer yet; it comes before anything that filters make of it.
        self._sent: Event | None = None
        self.run_ended: bool = False

    def _rewrite(self, chunk: bytes, event: Event) -> bytes:
        if _takes_the_long_way(event):
            self._take(self.decoder.feed(chunk))
            return self.written()
        self._sent = event
        left = self.chain.walk(event)
        if left is None:
            self._tell()  # does nothing if a filter has put something out: `_emit` has done it then
            return self.written()
        if self._sent is not None and not (self._out or self._verify):
            if left is event:
                self._sent = None
                self._passed(event)
                return chunk
            if left.fields is None:
                try:
                    written = b"data: %b\n\n" % left.raw
                except Exception:
                    pass  # a filter put in a value that is not JSON: `leave` meets it again, and handles it
                else:
                    if not _takes_the_long_way(left):
                        self._sent = None
                        self._replaced(event, left)
                        return written
        self.chain.leave(left)
        return self.written()

    def read(self, item: Item) -> Event | None:
        """See `Rewriter.read`."""
        event = super().read(item)
        if event is None:
            return None
        self._agent_sent(event)
        if _is_followed(event):
            self._follow_agent(event)
        return self._edit_start(event) if event.head.type in _RUN_STARTS else event

    def _tell(self) -> None:
        event, self._sent = self._sent, None
        if event is not None:
            self._agent_sent(event)

    def _emit(self, event: Event) -> None:
        passes = event is self._sent
        if passes:
            self._sent = None
        else:
            self._tell()
        super()._emit(event)
        if passes:
            self._passed(event)
        else:
            self._client_got(event)
        if _is_followed(event):
            self._follow_client(event)
            self.run_ended = self.run_ended or event.head.type in _RUN_ENDS


def _takes_the_long_way(event: Event) -> bool:
    return event.head.type in _RUN_STARTS or _is_followed(event)


def _is_followed(event: Event) -> bool:
    type = event.head.type
    return type in _RUN_ENDS or (type == "CUSTOM" and event.may_contain(_ANNOUNCES))
