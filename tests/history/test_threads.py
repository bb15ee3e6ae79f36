"""Records of threads: their keys, their form in a store, and one store for several event loops."""

import asyncio
import base64
from typing import Any

import anyio
import pytest

from agui_middleware.history.record import Item, Kept
from agui_middleware.history.store import Opened
from agui_middleware.history.stores import MemoryStore, in_use
from agui_middleware.history.threads import (
    COLLECTION,
    Bounds,
    Record,
    StoreUnavailable,
    Threads,
    decoded,
    encoded,
    thread_key,
)
from agui_middleware.protocol.owned import Owned

BOUNDS = Bounds(timeout=60, ttl=60, limit=10_000)
RECORD = Record(Kept(items={"n": Item(whole=b"{}")}), Owned({("message", "n"): True}))


def test_keys_differ_with_each_part_and_say_nothing() -> None:
    parts = [
        ("o", "/r", "t"),
        (None, "/r", "t"),
        ("", "/r", "t"),
        ("o/r", "", "t"),
        ("o", "/r", "\ud800"),
        ("o", "/", "rt"),
    ]
    keys = [thread_key(*part) for part in parts]
    assert len(set(keys)) == len(parts)
    assert all(len(key) == 48 for key in keys)


async def test_a_record_comes_back_as_it_was_written() -> None:
    threads = Threads(in_use(MemoryStore(10**6)), BOUNDS)
    await threads.write("k", RECORD)
    read = await threads.read("k")
    assert read is not None
    assert read.kept == RECORD.kept
    assert ("message", "n") in read.owned


def test_what_subagents_own_has_a_part_of_the_bound_of_its_own() -> None:
    owned = Owned({("message", f"m{number}"): True for number in range(1000)})
    kept = Kept(items={f"m{number}": Item(whole=b"x" * 100) for number in range(1000)})
    value = encoded(Record(kept, owned), 8000)
    assert len(base64.b64decode(value["record"])) <= 6000
    assert 50 < len(value["owned"]) < 200
    assert value["owned"][-1] == ("message", "m999")
    again = decoded(value)
    assert again is not None
    assert "m999" in again.kept.items


VALUE = encoded(RECORD, 10_000)
ANOTHER_VERSION = base64.b64encode(b"\x07").decode()


@pytest.mark.parametrize(
    "value",
    [
        *[{**VALUE, "owned": owned} for owned in ([5], [["message", 5]], [["message"]], "mm", [["a", "b", "c"]])],
        *[{**VALUE, "record": record} for record in ("", "junk", 5, ANOTHER_VERSION)],
        {},
    ],
)
def test_a_record_that_cannot_be_read_restores_nothing_and_leaves_unknown_what_is_hidden(value: Any) -> None:
    record = decoded(value)
    assert record is not None
    assert record.kept == Kept()
    assert not record.owned.is_known


async def test_what_is_hidden_stays_unknown_when_the_thread_is_written_again() -> None:
    threads = Threads(in_use(store := MemoryStore(10**6)), BOUNDS)
    await store.put("k", {"record": ANOTHER_VERSION, "owned": []}, collection=COLLECTION, ttl=60)
    await threads.write("k", RECORD)
    read = await threads.read("k")
    assert read is not None
    assert read.kept == RECORD.kept
    assert not read.owned.is_known


def test_a_client_of_a_network_is_made_anew_for_another_event_loop() -> None:
    """As by a test client that runs each request in a loop of its own."""
    opened: list[MemoryStore] = []

    def open() -> Opened:
        opened.append(MemoryStore(10**6))
        return in_use(opened[-1])()

    threads = Threads(open, BOUNDS)

    async def twice() -> None:
        await threads.write("k", RECORD)
        assert await threads.read("k") is not None

    anyio.run(twice)
    assert len(opened) == 1
    anyio.run(twice)
    assert len(opened) == 2


async def test_a_lock_stays_as_long_as_somebody_waits_for_it() -> None:
    """A third that comes while the second writes waits for it."""
    writing, most = 0, 0

    class Counting(MemoryStore):
        async def put(self, *args: object, **options: object) -> None:
            nonlocal writing, most
            writing += 1
            most = max(most, writing)
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            writing -= 1

    threads = Threads(in_use(Counting(10**6)), BOUNDS)
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(threads.write, "k", RECORD)
    assert most == 1
    assert not threads._locks


async def test_a_store_that_knows_no_other_processes_is_written_with_get_and_put() -> None:
    """As each of py-key-value-aio's."""

    class Plain:
        def __init__(self) -> None:
            self.values: dict[str, Any] = {}

        async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
            return self.values.get(key)

        async def put(self, key: str, value: Any, *, collection: str | None = None, ttl: object = None) -> None:
            self.values[key] = dict(value)

    threads = Threads(in_use(Plain()), BOUNDS)
    await threads.write("k", RECORD)
    await threads.write("k", Record(Kept(items={"o": Item(whole=b"{}")}), Owned()))
    read = await threads.read("k")
    assert read is not None
    assert list(read.kept.items) == ["n", "o"]


async def test_a_response_that_is_still_sent_belongs_to_the_record() -> None:
    threads = Threads(in_use(MemoryStore(10**6)), BOUNDS)
    later = Record(Kept(items={"o": Item(whole=b"{}")}), Owned({("message", "o"): True}))

    def running() -> Record:
        return later

    def other() -> None:
        return None

    threads.begin("k", running)
    assert await threads.read("k") == later
    await threads.write("k", RECORD)
    read = await threads.read("k")
    assert read is not None
    assert list(read.kept.items) == ["n", "o"]
    assert ("message", "n") in read.owned
    assert ("message", "o") in read.owned
    threads.begin("k", other)
    threads.end("k", running)  # it was not the last one
    assert list(threads._running) == ["k"]
    threads.end("k", other)
    assert not threads._running


def test_a_response_of_another_event_loop_is_left_alone() -> None:
    """It may be at work in another thread at this moment."""
    threads = Threads(in_use(MemoryStore(10**6)), BOUNDS)

    def running() -> Record:
        raise AssertionError("it is another loop's")

    async def begin() -> None:
        threads.begin("k", running)

    async def read() -> None:
        assert await threads.read("k") is None

    anyio.run(begin)
    anyio.run(read)


async def test_a_store_that_ends_in_an_error_of_its_own_is_unavailable() -> None:
    class Fails(MemoryStore):
        async def get(self, key: str, *, collection: str | None = None) -> None:
            raise TimeoutError("the store's own")

    with pytest.raises(StoreUnavailable):
        await Threads(in_use(Fails(0)), BOUNDS).read("k")


async def test_a_store_whose_own_task_was_cancelled_is_unavailable() -> None:
    class Waits(MemoryStore):
        async def get(self, *args: Any, **options: Any) -> Any:
            own = asyncio.ensure_future(asyncio.sleep(60))
            own.cancel()
            await own

    with pytest.raises(StoreUnavailable, match="what it waited for was cancelled"):
        await Threads(in_use(Waits(10**6)), BOUNDS).read("k")
