"""What a store is: two methods of py-key-value-aio's, and one more where several processes write it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol, SupportsFloat, TypeAlias, runtime_checkable


@runtime_checkable
class Store(Protocol):
    """What is needed of a store: two methods of py-key-value-aio's `AsyncKeyValue`, so that each of its stores is one.

    Values are objects of JSON.
    """

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """The value under `key`; `None` where there is none, or where its time is up."""
        ...

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,
    ) -> None:
        """Keep `value` under `key`, for `ttl` seconds."""
        ...


Change: TypeAlias = Callable[[dict[str, Any] | None], Mapping[str, Any]]
"""The value that is to be put, for the one that stands there. It must not wait for anything, nor change its argument."""


@runtime_checkable
class SharedStore(Store, Protocol):
    """A store that several processes write. Without this method the later of two writes at once replaces the earlier."""

    async def update_atomically(
        self, key: str, change: Change, *, collection: str | None = None, ttl: SupportsFloat | None = None
    ) -> None:
        """Put what `change` makes of the value under `key`, while nobody else puts another one there."""
        ...


class Opened(NamedTuple):
    """A store in use."""

    store: Store
    close: Callable[[], Awaitable[None]]
