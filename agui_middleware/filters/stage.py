"""One filter at work on one response, driven synchronously."""

import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from typing import Any

from agui_middleware.filters.source import (
    ATTEMPTS,
    CLOSE,
    END,
    PARKED,
    EventSource,
    close_outputs,
    report_endless_filter,
    report_late_yield,
)
from agui_middleware.protocol.event import Event

_MAY_NOT_AWAIT = "a filter that declares its event types awaited something; a filter that awaits does not declare any"


class Stage:
    """Drives one async generator that awaits nothing but its source; hands what it yields to `deliver`, at once.

    `step`, `finish` and `close` raise what the generator raises, after which the stage is `done`; and `RuntimeError` where
    it awaits anything else, since nobody here could wait for it. `close` may follow at any point, any number of times.
    """

    __slots__ = ("_closing", "_coroutine", "_deliver", "done", "source")

    def __init__(
        self, transform: Callable[[EventSource], AsyncIterator[Any]], deliver: Callable[[Any], object]
    ) -> None:
        self.source: EventSource = EventSource()
        self.done: bool = False  # the generator has ended, by itself or by an exception
        self._closing = False
        self._deliver = deliver
        self._coroutine: Coroutine[Any, Any, None] = self._drain(transform)
        # Up to its first request for an event. It is unwound by `close`, and the event loop need not keep a list of it.
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(None, None)
        try:
            self._resume(None)
        finally:
            sys.set_asyncgen_hooks(*hooks)

    def step(self, event: Event) -> Event | None:
        """Hand one event to the generator, which works on it until it asks for the next one.

        Return the event if the generator lets it pass, see `EventSource.skipped` and `EventSource.keepers`.
        """
        type, source = event.head.type, self.source
        if type in source.skipped:
            return event
        keeper = source.keepers.get(type) if event.fields is None else None
        if keeper is not None:
            keep = keeper(event)
            if keep is None:
                return event
            if keep(event):
                source.keep = keep
                return None
        source.keep = None
        if not self.done:
            self._resume(event)
        return None

    def finish(self) -> None:
        """Tell the generator that its source has ended; it may still yield. `done` afterwards."""
        for _ in range(ATTEMPTS):
            if not self.done:
                self._resume(END)
        self.close()

    def close(self) -> None:
        """Unwind the generator: its `finally` blocks run before this returns, and nothing it yields is delivered."""
        self._closing = True
        for _ in range(ATTEMPTS):
            if not self.done:
                with suppress(GeneratorExit):
                    self._resume(CLOSE)
        if not self.done:
            report_endless_filter()
        self.done = True

    def _resume(self, item: Any) -> None:
        try:
            if self._coroutine.send(item) is not PARKED:
                self._coroutine.throw(RuntimeError(_MAY_NOT_AWAIT))
                if not self._closing:
                    self.close()  # it has caught that, and goes on
                raise RuntimeError(_MAY_NOT_AWAIT)
        except StopIteration:
            self.done = True
        except BaseException:
            self.done = True
            raise

    async def _drain(self, transform: Callable[[EventSource], AsyncIterator[Any]]) -> None:
        outputs = transform(self.source)
        deliver = self._deliver
        try:
            async for output in outputs:
                if self._closing:
                    report_late_yield()
                    return
                deliver(output)
        finally:
            await close_outputs(outputs)
