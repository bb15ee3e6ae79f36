"""Several filters in a row, and which of them an event visits."""

from collections.abc import Sequence

from agui_middleware.filters.contract import Filter, Touched
from agui_middleware.protocol.event_types import EventType


class Next(dict[str, int]):
    """By event type, the first filter from some place on that an event visits; the number of filters where none does."""

    def __missing__(self, type: str) -> int:
        return self[""]  # which stands for every type that no filter names


class Composition:
    """Filters in their order, and which of them an event visits: those that declare its type, or declare none.

    Made once for a plan and shared by its responses. `next`: for each place in the order, the filter that is visited from
    there on. `together`: no filter awaits anything but its source.
    """

    __slots__ = ("filters", "next", "together")

    def __init__(self, filters: Sequence[Filter]) -> None:
        self.filters: tuple[Filter, ...] = tuple(filters)
        touched: list[Touched | None] = [getattr(filter, "handles", None) for filter in self.filters]
        self.together: bool = None not in touched
        types = frozenset(EventType).union({""}, *(filter.named for filter in touched if filter is not None))
        self.next: list[Next] = [Next(dict.fromkeys(types, len(touched)))]
        for index, here in reversed(list(enumerate(touched))):
            visits = {type: here is None or type in here for type in types}
            self.next.insert(0, Next({type: index if visits[type] else later for type, later in self.next[0].items()}))
