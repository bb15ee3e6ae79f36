"""Declared filters in a row, and which of them an event visits."""

from collections.abc import Sequence

from agui_middleware.filters.contract import Filter
from agui_middleware.filters.declared import DeclaredFilter, PerEventFilter
from agui_middleware.filters.needs_input import does_need_input
from agui_middleware.filters.source import EventSource
from agui_middleware.protocol.event_types import TOKENS, EventType


class NextFilter(dict[str, int]):
    """By event type, the index of the next filter that handles it; the number of filters where none does."""

    def __missing__(self, type: str) -> int:
        return self[""]  # stands for every type that no filter names


class Composition:
    """The filters of a plan, made once and shared by its responses.

    The first `foreign` of `filters` may put anything into an event, also an echo of the input; `None`: all of them.

    - `awaiting`: those up to the last one that declares nothing: they may await, and each runs on a pump.
    - `declared`: the others. They await nothing, and are driven synchronously.
    - `asleep`: by declared filter, what passes it by until it has started.
    - `needs_input`: whether one of them looks at `Context.input`.
    - `repeats`: by type of token, the generators among the declared filters that handle it. Types are left out that another
      filter handles which does not promise to repeat itself, see `per_event`.
    - `next`: for each place among the declared ones, the filter that an event of some type visits from there on.
    - `next_without_echo`: the same for a RUN_STARTED without `input`.
    """

    __slots__ = ("asleep", "awaiting", "declared", "filters", "needs_input", "next", "next_without_echo", "repeats")

    def __init__(self, filters: Sequence[Filter], foreign: int | None = None) -> None:
        self.filters: tuple[Filter, ...] = tuple(filters)
        declares = [isinstance(filter, DeclaredFilter) for filter in self.filters]
        first = len(declares) - declares[::-1].index(False) if False in declares else 0
        self.awaiting: tuple[Filter, ...] = self.filters[:first]
        self.declared: tuple[DeclaredFilter, ...] = tuple(
            filter for filter in self.filters[first:] if isinstance(filter, DeclaredFilter)
        )
        self.needs_input: bool = any(map(does_need_input, self.filters))
        self.asleep: list[EventSource] = [filter.asleep for filter in self.declared]
        self.next: list[NextFilter] = _next(self.declared)
        theirs = self.declared[: max(0, (len(self.filters) if foreign is None else foreign) - first)]
        may_echo = any("RUN_STARTED" in filter.handled for filter in theirs)
        self.next_without_echo: list[NextFilter] = self.next if may_echo else _next(self.declared, echo=False)
        self.repeats: dict[str, tuple[int, ...]] = {
            str(type): _generators(self.declared, type) for type in TOKENS if _repeats(self.declared, type)
        }


def _repeats(filters: Sequence[DeclaredFilter], type: str) -> bool:
    called = [filter for filter in filters if isinstance(filter, PerEventFilter) and type in filter.handled]
    return all(type in filter.repeats for filter in called)


def _generators(filters: Sequence[DeclaredFilter], type: str) -> tuple[int, ...]:
    return tuple(
        index
        for index, filter in enumerate(filters)
        if type in filter.handled and not isinstance(filter, PerEventFilter)
    )


def _next(filters: Sequence[DeclaredFilter], *, echo: bool = True) -> list[NextFilter]:
    types = frozenset(EventType).union({""}, *(filter.handled.named for filter in filters))
    tables = [NextFilter(dict.fromkeys(types, len(filters)))]
    for index, filter in reversed(list(enumerate(filters))):
        passed_by = {"RUN_STARTED"} if filter.handled.needs_echo and not echo else set()
        tables.append(NextFilter(tables[-1] | dict.fromkeys(filter.handled.among(types) - passed_by, index)))
    return tables[::-1]
