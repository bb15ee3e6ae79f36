"""How much is kept for one response: events that wait, and what is remembered of those that have left.

Every filter of a response counts against one budget. So a stream that opens ten thousand messages, or one message with an id
of ten megabytes, ends with AGUI_EVENT_TOO_LARGE, whichever filter remembers it.
"""

import sys
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, TypeVar

from agui_middleware.protocol.errors import EventTooLarge

OVERHEAD: Final = 100
"""What an event that waits, or an entry of an index, counts beside its bytes: about what CPython needs for the objects."""

MOST_REPEATED: Final = 1024
"""How many characters of an event a filter may repeat in events that left them out, such as the id of a chunk's message.

Without this bound a stream of tiny chunks behind one with an id of a megabyte would grow to gigabytes.
"""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Budget:
    """The bytes that are kept for one response, of at most `limit`."""

    __slots__ = ("held", "limit")

    def __init__(self, limit: int = sys.maxsize) -> None:
        self.held: int = 0
        self.limit: int = limit

    def hold(self, size: int) -> None:
        """Count `size` bytes. Raises `EventTooLarge`, and does not count them, where that would be more than `limit`."""
        if self.held + size > self.limit:
            raise EventTooLarge
        self.held += size

    def release(self, size: int) -> None:
        """Count `size` bytes no longer."""
        self.held -= size


class Index(dict[Key, Value]):
    """A dict whose keys count against a budget; values are counted by whoever puts them in, where they are large.

    Keys are strings, `None`, and tuples of them. Reading costs what it costs with any other dict. Raises `EventTooLarge`
    where a new key exceeds the budget, and is then as it was before.
    """

    __slots__ = ("_budget",)

    def __init__(self, budget: Budget, items: Mapping[Key, Value] | Iterable[tuple[Key, Value]] = ()) -> None:
        super().__init__()
        self._budget = budget
        if items:
            self.update(items)

    def __setitem__(self, key: Key, value: Value) -> None:
        if key not in self:
            self._budget.hold(size_of(key))
        super().__setitem__(key, value)

    def __delitem__(self, key: Key) -> None:
        super().__delitem__(key)
        self._budget.release(size_of(key))

    def setdefault(self, key: Key, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Key, default: Any = None) -> Any:
        """Remove a key and return its value; `default` where it is absent."""
        if key not in self:
            return default
        value = self[key]
        del self[key]
        return value

    def clear(self) -> None:
        self._budget.release(sum(map(size_of, self)))
        super().clear()

    def update(self, items: Any = ()) -> None:
        for key, value in items.items() if isinstance(items, Mapping) else items:
            self[key] = value

    def add(self, key: Key) -> None:
        """Put in a key without a value: an index may stand for a set."""
        self[key] = True  # type: ignore[assignment]  # such an index has values of any type

    def discard(self, key: Key) -> None:
        """Remove a key, if it is there."""
        if key in self:
            del self[key]


def size_of(key: Any) -> int:
    """What an entry with this key counts. The same each time, unlike `sys.getsizeof`: a string may grow a cache."""
    if isinstance(key, str):
        return OVERHEAD + (len(key) if key.isascii() else 4 * len(key))
    return sum(map(size_of, key)) if isinstance(key, tuple) else OVERHEAD
