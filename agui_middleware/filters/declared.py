"""Filters that declare the event types that they look at: the package's own are all of this kind.

A declared filter awaits nothing but its source. So a stream drives it synchronously, and only with events of its types; all
others pass it by, at no cost. It is an object, and callable as any other filter is: `functools.wraps` around one makes an
ordinary filter, which is called.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from agui_middleware.filters.contract import Context
from agui_middleware.filters.source import EventSource
from agui_middleware.filters.stage import Stage
from agui_middleware.protocol.event import Event

EVERYTHING: Final = "*"
"""Stands for every event type, those from after this release included."""

INPUT_ECHO: Final = "RUN_STARTED with `input`"
"""Stands for a RUN_STARTED that echoes the run's input. A filter that looks at nothing else of RUN_STARTED declares this,
and is not even started for one without: most servers send no echo, and every stream has a RUN_STARTED.
"""

Deliver: TypeAlias = Callable[[Any], object]
Step: TypeAlias = Callable[[Event], Event | None]
"""One event in; out comes the event to pass on, or `None` where there is none (yet)."""


class HandledTypes:
    """The event types that a filter looks at."""

    __slots__ = ("_all", "_except", "named", "needs_echo")

    def __init__(self, types: frozenset[str], except_: frozenset[str]) -> None:
        self._all = EVERYTHING in types
        self._except = except_
        self.needs_echo: bool = INPUT_ECHO in types and "RUN_STARTED" not in types
        """Whether a RUN_STARTED without `input` is nothing to look at."""
        if INPUT_ECHO in types:
            types = types - {INPUT_ECHO} | {"RUN_STARTED"}
        self.named: frozenset[str] = types | except_
        """The types that this declaration names. All others are treated alike."""

    def __contains__(self, type: str) -> bool:
        return type not in self._except if self._all else type in self.named

    def among(self, types: frozenset[str]) -> frozenset[str]:
        """Those of `types` that the filter looks at."""
        return types - self._except if self._all else types & self.named


class Running(Protocol):
    """A declared filter at work on one response."""

    @property
    def done(self) -> bool:
        """Whether it has ended by itself, and takes no more."""
        ...

    def step(self, event: Event) -> Event | None:
        """Take one event of the declared types; return the one to pass on, if it is there already."""
        ...

    def finish(self) -> None:
        """The stream has ended: deliver what is held back."""
        ...

    def close(self) -> None:
        """Unwind it. Nothing is delivered any more."""
        ...


class DeclaredFilter(ABC):
    """A filter with its declaration. `name`, for messages, is that of the function that was decorated."""

    def __init__(
        self, make: Callable[..., Any], types: tuple[str, ...], except_: frozenset[str], asleep: Collection[str] = ()
    ) -> None:
        self._make = make
        self.asleep: EventSource = EventSource()  # with what passes it by until it has started
        self.asleep.skipped = asleep
        self.handled: HandledTypes = HandledTypes(frozenset(types), except_)
        self.__name__: str = getattr(make, "__name__", type(make).__name__)
        self.__qualname__: str = getattr(make, "__qualname__", self.__name__)
        self.__doc__ = make.__doc__

    @abstractmethod
    def start(self, context: Context, deliver: Deliver) -> Running:
        """Put the filter to work on one response. What it yields is handed to `deliver`."""

    async def __call__(self, events: AsyncIterator[Event], context: Context) -> AsyncGenerator[Event, None]:
        """The filter as any other: an async generator over `events`."""
        left: list[Any] = []
        running = self.start(context, left.append)
        try:
            async for event in events:
                passed = running.step(event) if event.head.type in self.handled else event
                if passed is not None:
                    left.append(passed)
                for output in left:
                    yield output
                left.clear()
                if running.done:
                    return
            running.finish()
            for output in left:
                yield output
        finally:
            running.close()

    def __repr__(self) -> str:
        return f"<filter {self.__qualname__}>"


class GeneratorFilter(DeclaredFilter):
    """A declared filter that is written as an async generator."""

    def start(self, context: Context, deliver: Deliver) -> Running:
        return Stage(partial(_call, self._make, context), deliver)


class PerEventFilter(DeclaredFilter):
    """A declared filter for which each event stands alone. `repeats` is that of `per_event`."""

    def __init__(
        self, make: Callable[..., Any], types: tuple[str, ...], except_: frozenset[str], repeats: Collection[str]
    ) -> None:
        super().__init__(make, types, except_)
        self.repeats: Collection[str] = repeats

    def start(self, context: Context, deliver: Deliver) -> Running:
        return _RunningFunction(self.begin(context))

    def begin(self, context: Context) -> Step:
        """Its function for one response."""
        step: Step = self._make(context)
        return step


class _RunningFunction:
    __slots__ = ("step",)

    done = False

    def __init__(self, step: Step) -> None:
        self.step = step

    def finish(self) -> None:
        pass

    def close(self) -> None:
        pass


def _call(filter: Callable[..., Any], context: Context, events: EventSource) -> AsyncIterator[Any]:
    outputs: AsyncIterator[Any] = filter(events, context)
    return outputs


def handles(
    *types: str, except_: frozenset[str] = frozenset(), asleep: Collection[str] = ()
) -> Callable[[Callable[..., Any]], DeclaredFilter]:
    """Declare the only event types that an async-generator filter looks at.

        @handles("CUSTOM")
        async def without_debug(events, context): ...

    `EVERYTHING` stands for all types but those in `except_`. The filter promises to await nothing but its source (it ends
    the run with AGUI_FILTER_ERROR otherwise), and starts with the first event of its types. Events that pass it by overtake
    those that it holds back. It may set `events.skipped`, see `EventSource`; `asleep` is the same before it starts: a filter
    that has nothing to do at the types that every stream has is not started in most streams.
    """
    return lambda filter: GeneratorFilter(filter, types, except_, asleep)


def per_event(
    *types: str, except_: frozenset[str] = frozenset(), repeats: Collection[str] = ()
) -> Callable[[Callable[[Context], Step]], DeclaredFilter]:
    """Make a filter of a function that gives, for each event, the event to pass on, or `None` to drop it.

        @per_event("CUSTOM")
        def without_debug(context):
            return lambda event: None if event["name"] == "debug" else event

    What is decorated is called once a response, with its context, and returns that function. Calling one costs a fifth of
    resuming a generator. `types` and `except_` are those of `handles`.

    `repeats` is a promise about types of tokens. Two events are alike if they differ only in their `delta`, a text and not
    empty in both, and in their `timestamp`, an integer of as many digits in both. The function does with the second what it
    has done with the first: it passes it on, drops it, or changes members other than `type`, `delta` and `timestamp`. The
    second, and an event of these types in between, change nothing that it remembers. It is then not called with the second;
    see `stream/repeated.py`.
    """
    return lambda begin: PerEventFilter(begin, types, except_, repeats)
