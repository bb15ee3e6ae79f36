"""A store in one SQLite file, for all worker processes of a machine."""

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, SupportsFloat, TypeVar

import anyio
from anyio.lowlevel import RunVar

from agui_middleware.history.store import Change

T = TypeVar("T")

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS records (
    collection TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, expires REAL,
    PRIMARY KEY (collection, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_expires ON records (expires);
PRAGMA user_version = 1;
"""


_THREADS: Final = 8
_limiters: RunVar[anyio.CapacityLimiter] = RunVar("agui_middleware.history.sqlite_store")


def _limiter() -> anyio.CapacityLimiter:
    """The threads of the store, in each event loop: those of the default limiter run an application's own endpoints."""
    try:
        return _limiters.get()
    except LookupError:
        _limiters.set(limiter := anyio.CapacityLimiter(_THREADS))
        return limiter


class SQLiteStore:
    """Keeps values in the file at `path`. It is created where it is missing, readable for its owner only.

    Each call opens the file anew, in a worker thread: a connection may not be shared with a process that was forked, and
    one that stays open would have to be closed by a `lifespan.shutdown` that many servers never send. Reading takes
    a quarter of a millisecond, writing some milliseconds: it waits for the disk. Writers wait for each other for
    `busy_timeout` seconds. Raises `sqlite3.Error` and `OSError`.
    """

    def __init__(self, path: str | Path, *, busy_timeout: float = 1, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._busy_timeout = busy_timeout
        self._clock = clock

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """The value under `key`; `None` where there is none, or where its time is up."""
        return await self._in_thread(partial(self._get, key, collection or ""))

    async def put(
        self,
        key: str,
        value: Mapping[str, Any],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,
    ) -> None:
        """Keep `value`, for `ttl` seconds. What has expired by now is deleted."""
        await self._in_thread(partial(self._put, key, json.dumps(value), collection or "", ttl))

    async def update_atomically(
        self, key: str, change: Change, *, collection: str | None = None, ttl: SupportsFloat | None = None
    ) -> None:
        """See `SharedStore`: one transaction. `change` is called in a worker thread."""
        await self._in_thread(partial(self._update, key, change, collection or "", ttl))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        # Abandoned where the caller is cancelled, since it may wait for another process that holds the file's lock.
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_limiter())

    def _get(self, key: str, collection: str) -> dict[str, Any] | None:
        with closing(self._connect()) as connection:
            return self._select(connection, key, collection)

    def _put(self, key: str, value: str, collection: str, ttl: SupportsFloat | None) -> None:
        with closing(self._connect()) as connection, connection:
            self._insert(connection, key, value, collection, ttl)

    def _update(self, key: str, change: Change, collection: str, ttl: SupportsFloat | None) -> None:
        with closing(self._connect()) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")  # a transaction that begins by reading may not be let write later
            value = json.dumps(change(self._select(connection, key, collection)))
            self._insert(connection, key, value, collection, ttl)

    def _select(self, connection: sqlite3.Connection, key: str, collection: str) -> dict[str, Any] | None:
        row = connection.execute(
            "SELECT value FROM records WHERE collection = ? AND key = ? AND (expires IS NULL OR expires > ?)",
            (collection, key, self._clock()),
        ).fetchone()
        value: dict[str, Any] | None = None if row is None else json.loads(row[0])
        return value

    def _insert(
        self, connection: sqlite3.Connection, key: str, value: str, collection: str, ttl: SupportsFloat | None
    ) -> None:
        now = self._clock()
        expires = None if ttl is None else now + float(ttl)
        connection.execute("DELETE FROM records WHERE expires <= ?", (now,))
        connection.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", (collection, key, value, expires))

    def _connect(self) -> sqlite3.Connection:
        if not self._path.exists():
            self._path.touch(mode=0o600)  # SQLite gives its other files the same rights
        connection = sqlite3.connect(self._path, timeout=self._busy_timeout)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the newest records, never the file
            [version] = connection.execute("PRAGMA user_version").fetchone()
            if not version:  # the file is new, or was deleted meanwhile
                connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer do not wait for each other
                connection.executescript(_SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection
