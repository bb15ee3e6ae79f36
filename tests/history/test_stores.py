"""The stores that a URL names, each against the same contract; a real Redis among them."""

import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from key_value.aio.protocols.key_value import AsyncKeyValueProtocol

from agui_middleware.history.sqlite_store import SQLiteStore
from agui_middleware.history.store import Opened, SharedStore, Store
from agui_middleware.history.stores import MemoryStore, opener


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def redis_server(port: int | None = None) -> Iterator[int]:
    """A real Redis on a loopback port, without a file."""
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
    executable = shutil.which("redis-server")
    assert executable, "redis-server is not installed"
    command = [executable, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if "Ready to accept connections" in line:
                    break
            yield port
        finally:
            process.kill()


@pytest.fixture(scope="module")
def redis_port() -> Iterator[int]:
    with redis_server() as port:
        yield port


def opened(url: str) -> Opened:
    return opener(url, timeout=1, memory_limit=10**6)()


@pytest.fixture(params=["memory", "sqlite", "redis", "valkey"])
def url(request: pytest.FixtureRequest, tmp_path: Path, redis_port: int) -> str:
    address = f"127.0.0.1:{redis_port}/0"
    places = {"memory": "", "sqlite": f"{tmp_path}/history.db", "redis": address, "valkey": address}
    return f"{request.param}://{places[request.param]}"


async def test_a_store_gives_back_what_was_put(url: str, request: pytest.FixtureRequest) -> None:
    store, close = opened(url)
    assert await store.get("a", collection=request.node.name) is None
    await store.put("a", {"record": "\ud800é", "owned": [["message", "m"]]}, collection=request.node.name, ttl=60)
    await store.put("b", {"record": "b"}, collection=request.node.name)
    assert await store.get("a", collection=request.node.name) == {"record": "\ud800é", "owned": [["message", "m"]]}
    assert await store.get("b", collection=request.node.name) == {"record": "b"}
    assert await store.get("a", collection="another") is None
    await store.put("a", {"record": "later"}, collection=request.node.name, ttl=60)
    assert await store.get("a", collection=request.node.name) == {"record": "later"}
    await close()


async def test_a_value_of_redis_expires_by_the_server(redis_port: int) -> None:
    from redis.asyncio import Redis

    store, close = opened(f"redis://127.0.0.1:{redis_port}/0")
    await store.put("k", {"record": ""}, collection="ttl", ttl=3600)
    async with Redis(port=redis_port) as client:
        (key,) = await client.keys("*ttl*")
        assert 3590 < await client.ttl(key) <= 3600
    await close()


@pytest.mark.parametrize("make", [lambda clock, _: MemoryStore(10**6, clock), lambda c, p: SQLiteStore(p, clock=c)])
async def test_a_value_expires(make: Callable[[Clock, Path], Store], tmp_path: Path) -> None:
    clock = Clock()
    store = make(clock, tmp_path / "history.db")
    await store.put("k", {"record": "k"}, ttl=7)
    await store.put("for good", {"record": "g"})
    clock.now += 6.9
    assert await store.get("k") == {"record": "k"}
    clock.now += 0.1
    assert await store.get("k") is None
    assert await store.get("for good") == {"record": "g"}


async def test_sqlite_deletes_what_has_expired(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "history.db"
    store = SQLiteStore(path, clock=clock)
    await store.put("old", {"record": "x" * 1000}, ttl=7)
    clock.now += 8
    await store.put("new", {}, ttl=7)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT key FROM records").fetchall() == [("new",)]
    connection.close()


async def test_memory_is_bounded_and_drops_what_was_not_used_longest() -> None:
    store = MemoryStore(4500)
    for key in "abcd":
        await store.put(key, {"record": ""})
    assert await store.get("a") is not None
    await store.put("e", {"record": ""})
    assert [key for key in "abcde" if await store.get(key) is not None] == ["a", "c", "d", "e"]
    await store.put("large", {"record": "x" * 5000})
    assert [key for key in ("a", "c", "d", "e", "large") if await store.get(key) is not None] == []
    assert store._size == 0


async def test_memory_counts_all_of_a_value() -> None:
    """The ids that subagents own are lists, and may be a quarter of a record."""
    store = MemoryStore(100_000)
    for key in "abc":
        await store.put(key, {"record": "", "owned": [["message", "x" * 1000]] * 40})
    assert [key for key in "abc" if await store.get(key) is not None] == ["b", "c"]


async def test_the_file_is_for_its_owner_only_and_made_again_where_it_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    store = SQLiteStore(path)
    await store.put("k", {"record": "k"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.unlink()
    assert await store.get("k") is None
    await store.put("k", {"record": "again"})
    assert await store.get("k") == {"record": "again"}


async def test_what_is_no_database_raises_and_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        await SQLiteStore(path).get("k")


async def test_a_locked_file_is_given_up_when_the_caller_is(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    store = SQLiteStore(path, busy_timeout=60)
    await store.put("k", {})
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with anyio.move_on_after(0.05) as scope:
        await store.put("k", {"record": "late"})
    assert scope.cancelled_caught
    other.execute("ROLLBACK")
    other.close()


async def test_many_writers_of_one_new_file(tmp_path: Path) -> None:
    """As worker processes that start together: none fails, and nothing that another has written is lost."""
    stores = [SQLiteStore(tmp_path / "history.db", busy_timeout=30) for _ in range(8)]

    async def write(number: int) -> None:
        for turn in range(5):
            await stores[number].put(f"{number}.{turn}", {"record": str(number)})

    async with anyio.create_task_group() as group:
        for number in range(len(stores)):
            group.start_soon(write, number)
    kept = [await stores[0].get(f"{number}.{turn}") for number in range(8) for turn in range(5)]
    assert kept == [{"record": str(number)} for number in range(8) for _ in range(5)]


async def test_what_many_change_at_once_is_changed_by_each(url: str, request: pytest.FixtureRequest) -> None:
    """As worker processes that end a response each: no change is lost. Each opens the store for itself, but for memory."""
    one = opened(url)
    stores = [one if url == "memory://" else opened(url) for _ in range(4)]
    name = request.node.name

    async def count(store: Store) -> None:
        assert isinstance(store, SharedStore)
        for _ in range(5):
            await store.update_atomically("k", lambda old: {"n": old["n"] + 1 if old else 1}, collection=name, ttl=60)

    async with anyio.create_task_group() as group:
        for each in stores:
            group.start_soon(count, each.store)
    assert await one.store.get("k", collection=name) == {"n": 20}
    for each in (one, *stores):
        await each.close()


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
async def test_a_change_that_fails_lets_the_next_one_in(kind: str, tmp_path: Path, redis_port: int) -> None:
    store, close = opened(f"sqlite://{tmp_path}/h.db" if kind == "sqlite" else f"redis://127.0.0.1:{redis_port}/0")
    assert isinstance(store, SharedStore)

    def fails(_: object) -> dict[str, object]:
        raise LookupError

    with pytest.raises(LookupError):
        await store.update_atomically("fails", fails, collection="c", ttl=60)
    await store.update_atomically("fails", lambda old: {"old": old}, collection="c", ttl=60)
    assert await store.get("fails", collection="c") == {"old": None}
    await close()


async def test_each_store_of_py_key_value_is_one(redis_port: int) -> None:
    from key_value.aio.stores.memory import MemoryStore as TheirStore

    store: AsyncKeyValueProtocol = TheirStore()
    assert isinstance(store, Store)
    checked: Store = store  # and mypy says so too
    await checked.put("k", {"record": ""}, collection="c", ttl=60)
    assert await checked.get("k", collection="c") == {"record": ""}


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "key_value.aio.stores.redis", None)
    with pytest.raises(ValueError, match=r"redis:// needs an extra: pip install 'agui-middleware\[history\]'"):
        opened("redis://localhost")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("sqlite:///no/such/directory/history.db", "history: the directory '/no/such/directory' does not exist"),
        ("redis://localhost:port/0", "history: .*[Pp]ort"),
    ],
)
def test_what_cannot_be_opened_is_told_at_start(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        opened(url)
