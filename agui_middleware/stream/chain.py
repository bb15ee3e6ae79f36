"""The declared filters of one response in a row, driven synchronously."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import PerEventFilter, Running, Step
from agui_middleware.filters.source import EventSource, Keep, report_failed_close
from agui_middleware.filters.stage import Stage
from agui_middleware.protocol.errors import run_error
from agui_middleware.protocol.event import Event, as_event
from agui_middleware.stream.outcome import Outcome

NOT_KEPT: Final[tuple[Event | None, Keep | None]] = (None, None)


class Chain(Outcome):
    """Drives the declared filters of one response: events in by `push`, events out by `emit`.

    If a filter raises, `failure` is set, and its successors read RUN_ERROR and then the end, so that they can close what
    they keep open. If a filter returns early, they read the end. In both cases it gets no further events, and the chain has
    `ended`. Call `close` when the response is over, however it ended.
    """

    __slots__ = (
        "_context",
        "_count",
        "_dead",
        "_emit",
        "_filters",
        "_next",
        "_next_without_echo",
        "_repeats",
        "_running",
        "_skipping",
        "_steps",
        "kept",
    )

    def __init__(self, composition: Composition, context: Context, emit: Callable[[Event], None]) -> None:
        super().__init__()
        self._filters = composition.declared
        self._next = composition.next
        self._next_without_echo = composition.next_without_echo
        self._repeats = composition.repeats
        self._context = context
        self._emit = emit
        self._count = len(self._filters)
        # A filter starts with the first event that it handles: most types never come, so most filters never start.
        self._running: dict[int, Running] = {}  # those that may hold something back
        self._steps: list[Step | None] = [None] * self._count
        self._skipping: list[EventSource] = [*composition.asleep]
        self._dead = -1  # the last filter that takes no more events: what would reach it, or any before it, is dropped
        self.kept: tuple[Event | None, Keep | None] = NOT_KEPT  # what a generator has taken since somebody has set this

    def push(self, event: Event) -> None:
        """Pass one event to the filters. Everything that they yield for it has been emitted when this returns."""
        if event.head.type == "RUN_STARTED" and not event.may_contain(b'"input"'):
            self._start_run(event)
            return
        left = self.walk(event)
        if left is not None:
            self.leave(left)

    def _start_run(self, event: Event) -> None:
        """`push`, for a RUN_STARTED without `input`: the filters that look only at that need not even be started."""
        self._next, whole = self._next_without_echo, self._next
        try:
            left = self.walk(event)
        finally:
            self._next = whole
        if left is not None:
            self.leave(left)

    def walk(self, event: Event, index: int = 0) -> Event | None:
        """Take an event through the filters from `index` on. Return the event that is left to `leave`, if there is one.

        `None`: a filter has dropped the event, or is a generator; what that yields is emitted from within.
        """
        if index <= self._dead:
            return None
        type = event.head.type
        while (index := self._next[index][type]) < self._count:
            if type in self._skipping[index].skipped:  # as `step` would, but for the call: tokens pass here
                index += 1
                continue
            try:
                step = self._steps[index] or self._start(index)
                passed = step(event)
            except Exception as error:
                self._fail(index, error)
                return None
            if passed is None:
                if index in self._running:
                    self.kept = event, self._skipping[index].keep
                    if self._running[index].done:
                        self._end_behind(index)
                return None
            if passed is not event:
                event, type = passed, passed.head.type
            index += 1
        return event

    def repeats(self, type: str) -> bool:
        """Whether what becomes of an event of this type becomes of each that follows with another `delta`, too."""
        generators = self._repeats.get(type)
        if generators is None:
            return False
        for index in generators:
            source = self._skipping[index]
            if not (type in source.skipped or type in source.keepers):
                return False
        return True

    def leave(self, event: Event) -> None:
        """Emit an event that `walk` has returned. If it cannot be encoded, the last filter counts as the one that failed."""
        try:
            self._emit(event)
        except Exception as error:
            self._fail(self._count - 1, error)
            self._end_at(self._count)  # also without filters here, since one that may await has made the event

    def fail(self, error: Exception) -> None:
        """End the run because the stream itself is faulty: every filter reads RUN_ERROR and the end."""
        self._fail(self._dead, error)
        self._end_at(self._count)

    def finish(self) -> None:
        """End the stream: every filter yields what it still holds back."""
        self._finish_from(0)
        self._end_at(self._count)

    def let_go(self) -> None:
        """Emit what may not be overtaken by a frame that cannot be read, see `EventSource.let_go`."""
        for index, source in enumerate(self._skipping):  # read lazily: what one lets go may start a later one
            if self.ended:
                return
            try:
                for event in source.let_go():
                    self._deliver(index + 1, event)
            except Exception as error:
                self._fail(index, error)

    def close(self) -> None:
        """Unwind every filter, in order. An exception that one of them raises is logged, and the next one is unwound.

        No reference to this object is left, so that a finished response is freed at once, without the garbage collector.
        """
        for index in sorted(self._running):
            try:
                self._running[index].close()
            except Exception as error:
                report_failed_close(error)
        self._end_at(self._count)
        self._running, self._steps, self._emit = {}, [], _drop

    def _start(self, index: int) -> Step:
        filter = self._filters[index]
        if type(filter) is PerEventFilter:
            step = self._steps[index] = filter.begin(self._context)
            return step
        running = self._running[index] = filter.start(self._context, partial(self._deliver, index + 1))
        if isinstance(running, Stage):
            self._skipping[index] = running.source
        step = self._steps[index] = running.step
        return step

    def _deliver(self, index: int, output: Any) -> None:
        """Pass on an event that the filter before `index` has yielded."""
        left = self.walk(output if type(output) is Event else as_event(output), index)
        if left is not None:
            self._emit(left)

    def _end_behind(self, index: int) -> None:
        """Let the successors of a filter that has returned read the end."""
        if index > self._dead:
            self._end_at(index)
            self._finish_from(index + 1)

    def _fail(self, index: int, error: Exception) -> None:
        self.failure: Exception | None = self.failure or error
        self._end_at(index)
        self._deliver(self._dead + 1, run_error(error))
        self._finish_from(self._dead + 1)

    def _finish_from(self, index: int) -> None:
        later = index - 1
        # Asked anew each time: what a filter still yields may start another one behind it, or end one.
        while (later := min([each for each in self._running if each > max(later, self._dead)], default=-1)) >= 0:
            try:
                self._running[later].finish()
            except Exception as error:
                self._fail(later, error)
                return
            self._end_at(later)

    def _end_at(self, index: int) -> None:
        self._dead = max(self._dead, index)
        self.ended = True


def _drop(_: Event) -> None:
    pass
