"""The records of threads in a store: read and written within a bound of time, and never in the way of a run."""

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import anyio
from anyio.lowlevel import current_token

from agui_middleware.history.record import Kept
from agui_middleware.history.stores import Opened
from agui_middleware.protocol.owned import Owned

COLLECTION: Final = "agui-history"


class Record(NamedTuple):
    """What is kept of a thread."""

    kept: Kept
    owned: Owned
    """What subagents have opened in earlier responses, of a route that hides."""


class Bounds(NamedTuple):
    """How long, and how much."""

    timeout: float
    """Seconds that a call waits for the store."""
    ttl: float
    """Seconds that a record is kept after it was last written."""
    limit: int
    """Bytes of a record."""


class StoreUnavailable(Exception):
    """The store has raised an error, which is the cause, or has not answered in time."""


class Threads:
    """The records of one store. Both methods raise `StoreUnavailable`, after `bounds.timeout` at the latest.

    `open` is called with the first use, and again where another event loop uses it: clients of a network are bound to one.
    """

    def __init__(self, open: Callable[[], Opened], bounds: Bounds) -> None:
        self._open = open
        self.bounds: Bounds = bounds
        self._opened: Opened | None = None
        self._loop: object = None
        self._locks: dict[str, tuple[anyio.Lock, list[None]]] = {}

    async def read(self, key: str) -> Record | None:
        """The record of a thread; `None` where there is none, or one that cannot be read, as that of another version."""
        async with self._in_time():
            return decoded(await self._store().get(key, collection=COLLECTION))

    async def write(self, key: str, record: Record) -> None:
        """Merge a record into what the store has by now: another request of the thread may have ended meanwhile.

        Within this process one waits for the other. Of two processes that write in the same moment, the later one wins.
        """
        async with self._in_time(), self._alone(key):
            store = self._store()
            known = decoded(await store.get(key, collection=COLLECTION))
            if known is not None:
                record = Record(known.kept.merged(record.kept), known.owned.merged(record.owned))
            value = encoded(record, self.bounds.limit)
            await store.put(key, value, collection=COLLECTION, ttl=self.bounds.ttl)

    async def close(self) -> None:
        """Close the store, unless whoever made it does. It is opened again when it is used again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            async with self._in_time():
                await opened.close()

    def _store(self) -> Any:
        loop = current_token()
        if self._opened is None or loop != self._loop:
            self._opened, self._loop, self._locks = self._open(), loop, {}
        return self._opened.store

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            with anyio.fail_after(self.bounds.timeout):
                yield
        except TimeoutError as error:
            raise StoreUnavailable(f"it did not answer within {self.bounds.timeout:g} s") from error
        except Exception as error:
            raise StoreUnavailable(f"{type(error).__name__}: {error}") from error

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        self._store()  # another event loop has locks of its own
        lock, users = self._locks.setdefault(key, (anyio.Lock(), []))
        users.append(None)
        try:
            async with lock:
                yield
        finally:
            users.pop()
            if not users:
                self._locks.pop(key, None)


def thread_key(owner: str | None, route: str, thread: str) -> str:
    """The key of a thread: a digest, so that no name of a user or of a thread stands in the store, of any length.

    Threads of different owners, and of different routes, never meet: one route may hide what another shows.
    """
    return blake2b(repr((owner, route, thread)).encode(), digest_size=24).hexdigest()


def encoded(record: Record, limit: int) -> dict[str, Any]:
    """The value that is stored: of `limit` bytes at most, before base64."""
    owned = record.owned.within(limit // 4)  # apart: without them what a route hides might leave
    data = record.kept.to_bytes(limit - limit // 4)
    return {"record": b64encode(data).decode(), "owned": owned}


def decoded(value: Any) -> Record | None:
    """The record in a value that was stored, whatever that is."""
    try:
        kept = Kept.read(b64decode(value["record"], validate=True))
        owned = Owned.of(value["owned"])
    except (KeyError, TypeError, ValueError):
        return None
    return None if kept is None else Record(kept, owned)
