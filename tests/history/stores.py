"""Stores that fail, or that wait: for tests of what happens then."""

from typing import Any

import anyio

from agui_middleware.history.stores import MemoryStore


class FailingStore:
    """Raises with each call; counts them."""

    def __init__(self) -> None:
        self.calls = 0

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, object] | None:
        self.calls += 1
        raise ConnectionError("refused")

    async def put(self, key: str, value: object, *, collection: str | None = None, ttl: object = None) -> None:
        self.calls += 1
        raise ConnectionError("refused")


class LaterFailingStore(FailingStore):
    """Keeps what the first response has to be kept, and fails from then on."""

    def __init__(self) -> None:
        super().__init__()
        self._store = MemoryStore(10**6)

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, object] | None:
        if self.calls:
            await super().get(key, collection=collection)
        return await self._store.get(key, collection=collection)

    async def put(self, key: str, value: Any, *, collection: str | None = None, ttl: Any = None) -> None:
        self.calls += 1
        await self._store.put(key, value, collection=collection, ttl=ttl)


class SilentStore:
    """Never answers. `asked` is set with the first call, `cancelled` counts those that were given up."""

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.cancelled = 0

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, object] | None:
        await self._wait()
        return None

    async def put(self, key: str, value: object, *, collection: str | None = None, ttl: object = None) -> None:
        await self._wait()

    async def _wait(self) -> None:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        except BaseException:
            self.cancelled += 1
            raise


class WaitingStore(MemoryStore):
    """A store in memory whose reads wait until they are let go on; `waiting` is set by the first that does."""

    def __init__(self) -> None:
        super().__init__(10**6)
        self.waiting = anyio.Event()
        self.go_on = anyio.Event()

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, object] | None:
        self.waiting.set()
        await self.go_on.wait()
        return await super().get(key, collection=collection)
