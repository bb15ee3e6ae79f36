"""The stores that a URL names."""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Final, SupportsFloat

from agui_middleware.history.store import Change, Opened, Store

EXTRA: Final = "pip install 'agui-middleware[history]'"
_LOOK_AGAIN: Final = 0.01  # seconds, for another process to have written
_OVERHEAD: Final = 1000  # bytes that an entry takes besides its record


class LockedStore:
    """A store with a lock a key, such as those of Redis. `lock` makes one by its name."""

    def __init__(self, store: Store, lock: Callable[[str], AbstractAsyncContextManager[object]]) -> None:
        self._store = store
        self._lock = lock

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """See `Store`."""
        return await self._store.get(key, collection=collection)

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,
    ) -> None:
        """See `Store`."""
        await self._store.put(key, value, collection=collection, ttl=ttl)

    async def update_atomically(
        self, key: str, change: Change, *, collection: str | None = None, ttl: SupportsFloat | None = None
    ) -> None:
        """See `SharedStore`. It costs two requests more than `get` and `put`."""
        async with self._lock(f"{collection}:lock:{key}"):
            await self.put(key, change(await self.get(key, collection=collection)), collection=collection, ttl=ttl)


class MemoryStore:
    """Keeps values in this process, of at most `limit` bytes together: those that were not used longest go first."""

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._size = 0
        self._values: OrderedDict[tuple[str | None, str], tuple[bytes, float]] = OrderedDict()

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """The value under `key`; `None` where there is none, or where its time is up."""
        place = collection, key
        data, expires = self._values.get(place, (b"", 0.0))
        if expires <= self._clock():
            self._drop(place)
            return None
        self._values.move_to_end(place)
        value: dict[str, Any] = json.loads(data)
        return value

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,
    ) -> None:
        """Keep `value`, for `ttl` seconds."""
        place = collection, key
        self._drop(place)
        # As bytes, whose size is known, whatever a record consists of; msgspec rejects an id with half a surrogate pair.
        data = json.dumps(value).encode()
        self._values[place] = data, self._clock() + (float("inf") if ttl is None else float(ttl))
        self._size += _OVERHEAD + len(data)
        while self._size > self._limit:
            self._drop(next(iter(self._values)))

    async def update_atomically(
        self, key: str, change: Change, *, collection: str | None = None, ttl: SupportsFloat | None = None
    ) -> None:
        """See `SharedStore`: nothing is awaited in between."""
        await self.put(key, change(await self.get(key, collection=collection)), collection=collection, ttl=ttl)

    def _drop(self, place: tuple[str | None, str]) -> None:
        entry = self._values.pop(place, None)
        if entry is not None:
            self._size -= _OVERHEAD + len(entry[0])


def opener(url: str, *, timeout: float, memory_limit: int) -> Callable[[], Opened]:
    """A function that opens the store of a URL. Nothing is connected yet: the network is first used with the first request.

    Raises `ValueError` where a package is missing.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "memory":
        return in_use(MemoryStore(memory_limit))
    if scheme == "sqlite":
        from agui_middleware.history.sqlite_store import SQLiteStore

        if not Path(rest).parent.is_dir():
            raise ValueError(f"history: the directory {str(Path(rest).parent)!r} does not exist")
        return in_use(SQLiteStore(rest, busy_timeout=timeout))
    try:
        from key_value.aio.stores.redis import RedisStore
        from redis.asyncio import Redis
    except ImportError as error:
        raise ValueError(f"history: {scheme}:// needs an extra: {EXTRA}") from error
    # A server of Valkey speaks the protocol of Redis.
    address = f"{scheme.replace('valkey', 'redis')}://{rest}"

    def connect() -> Opened:
        client = Redis.from_url(address, decode_responses=True, socket_connect_timeout=timeout)
        # A holder that dies leaves its lock until it expires. One that lives gives up before that: see `Threads`.
        lock = partial(client.lock, timeout=max(timeout, 1), sleep=_LOOK_AGAIN)
        return Opened(LockedStore(RedisStore(client=client), lock), client.aclose)

    try:
        Redis.from_url(address)
    except ValueError as error:
        raise ValueError(f"history: {error}") from error
    return connect


def in_use(store: Store) -> Callable[[], Opened]:
    """Wrap a store that is open already, and that its owner closes."""
    opened = Opened(store, _nothing)
    return lambda: opened


async def _nothing() -> None:
    pass
