"""The records of threads in a store: read and written within a bound of time, and never in the way of a run."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import anyio
from anyio.lowlevel import current_token

from agui_middleware.history.open_interrupts import interrupts_in, within
from agui_middleware.history.record import Kept
from agui_middleware.history.store import Opened, SharedStore
from agui_middleware.protocol.interrupt_dialects import OpenInterrupt
from agui_middleware.protocol.owned import UNKNOWN, Owned

COLLECTION: Final = "agui-history"


class Record(NamedTuple):
    """What is kept of a thread."""

    kept: Kept
    owned: Owned
    """What subagents have opened in earlier responses, of a route that hides."""
    open: list[OpenInterrupt] | None = None
    """The interrupts that wait for an answer; `None` for a response without any run that tells."""

    def merged(self, newer: "Record", read: "Record | None" = None) -> "Record":
        """This record with that of a later response, which began with the record `read`."""
        kept = self.kept.merged(newer.kept, None if read is None else read.kept)
        return Record(kept, self.owned.merged(newer.owned), self.open if newer.open is None else newer.open)


Running: TypeAlias = Callable[[], Record | None]
"""What there is to keep of a response that is still being sent."""


class Bounds(NamedTuple):
    """The bounds of time and size."""

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
        self._is_shared = False
        self._locks: dict[str, tuple[anyio.Lock, list[None]]] = {}
        self._running: dict[str, tuple[object, Running]] = {}

    async def read(self, key: str) -> Record | None:
        """The record of a thread; `None` where there is none.

        Where a response of the thread is still being sent by this event loop, what there is to keep of it so far belongs
        to it: a user who stops a run and goes on posts before the server has heard that the client has left.
        """
        loop, running = self._running.get(key, (None, None))
        async with self._in_time():
            record = decoded(await self._store().get(key, collection=COLLECTION))
        so_far = running() if running is not None and loop == current_token() else None
        return record if so_far is None else so_far if record is None else record.merged(so_far)

    async def write(self, key: str, record: Record, read: Record | None = None) -> None:
        """Merge the record of a response into what the store has by now; `read` is what the response began with.

        Another request of the thread may have ended meanwhile, here or in another process. Only a store that is no
        `SharedStore` lets the later one of two processes win that write in the same moment.
        """
        change = partial(self._changed, record, read)
        options: dict[str, Any] = {"collection": COLLECTION, "ttl": self.bounds.ttl}
        async with self._in_time(), self._alone(key):
            store = self._store()
            if self._is_shared:
                await store.update_atomically(key, change, **options)
            else:
                await store.put(key, change(await store.get(key, collection=COLLECTION)), **options)

    def begin(self, key: str, running: Running) -> None:
        """A response of a thread has begun. Of several, the one that began last counts for `read`."""
        self._running[key] = current_token(), running

    def end(self, key: str, running: Running) -> None:
        """A response has ended, and its record is written, if there is one."""
        if self._running.get(key, (None, None))[1] == running:
            del self._running[key]

    def _changed(self, record: Record, read: Record | None, value: Any) -> dict[str, Any]:
        known = decoded(value)
        return encoded(record if known is None else known.merged(record, read), self.bounds.limit)

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
            self._is_shared = isinstance(self._opened.store, SharedStore)
        return self._opened.store

    @asynccontextmanager
    async def _in_time(self) -> AsyncIterator[None]:
        try:
            with anyio.fail_after(self.bounds.timeout):
                yield
        except TimeoutError as error:
            raise StoreUnavailable(f"it did not answer within {self.bounds.timeout:g} s") from error
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody has cancelled this task: the store has waited for one of its own, which was.
            raise StoreUnavailable("what it waited for was cancelled") from error
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
    """Encode a record as the stored value, of at most `limit` bytes before base64."""
    # Apart: without them what a route hides might leave.
    owned = record.owned.within(limit // 4) if record.owned.is_known else None
    open = within(record.open or [], limit // 4)
    data = record.kept.to_bytes(limit - limit // 4 * (2 if open else 1))
    return {"record": b64encode(data).decode(), "owned": owned, **({"open": open} if open else {})}


def decoded(value: Any) -> Record | None:
    """Decode a stored value; `None` if there is none.

    What is not a record, or one of another version, restores nothing, and leaves unknown what subagents have opened.
    """
    if value is None:
        return None
    try:
        kept = Kept.read(b64decode(value["record"], validate=True))
        owned = UNKNOWN if value["owned"] is None else Owned.of(value["owned"])
    except (KeyError, TypeError, ValueError):
        kept = None
    if kept is None:
        return Record(Kept(), UNKNOWN)
    return Record(kept, owned, interrupts_in(value.get("open")))
