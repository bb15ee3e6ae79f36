"""Many streams at once, with random cuts, stalls and leaves: `python -m tests.robustness.soak --streams 1000 --seconds 60`.

Every stream that was read to its end equals its reference, one that was left is a beginning of it, and when all are over
the memory is what it was after a tenth of the time. One in ten is a stream of `hungry.py` under a small `max_event_bytes`.
Everything happens in one process, without sockets: what a server adds is `test_servers.py`'s.
"""

import argparse
import gc
import logging
import random
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from starlette.types import Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from tests.robustness.agents import FRAMES, SEEN
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body
from tests.robustness.hungry import HUNGRY, frames
from tests.robustness.leaks import LOOPS, run_clean

STALL = 0.05  # seconds at most
HANGS = 300.0  # seconds that a loaded machine may take for what is under way when the time is over
SLACK = 256 * 1024  # bytes that may stay: caches, the interpreter's free lists
OLD = ("0.0.27", "0.0.36", "0.0.40", "0.0.45", "0.0.57")
WAYS = ("stays", "stays", "stays", "send raises", "receive tells", "is cancelled")


@dataclass
class Soak:
    """What a soak has seen so far."""

    random: random.Random
    ends: Counter[str] = field(default_factory=Counter)
    served: int = 0
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes that Python holds: before, at the most, and after."""

    def __post_init__(self) -> None:
        routes = [Route(path=f"/{mode}", visibility=mode, filters=[self._dawdling]) for mode in SEEN]  # type: ignore[arg-type]
        self.app = AGUIMiddleware(self._agent, Settings(routes=routes))
        self._hungry = [frames(stream, 10) for stream in HUNGRY.values()]
        greedy = [Route(path=f"/{release}", client=release, filters=[self._dawdling]) for release in OLD]
        self._bounded = AGUIMiddleware(self._hungry_agent, Settings(routes=greedy, max_event_bytes=20_000))

    async def run(self, streams: int, seconds: float) -> None:
        """Keep `streams` streams going, a new one for each that ends, for so many seconds."""
        deadline = anyio.current_time() + seconds
        async with anyio.create_task_group() as group:
            for _ in range(streams):
                group.start_soon(self._serve_until, deadline)

    async def _serve_until(self, deadline: float) -> None:
        while anyio.current_time() < deadline:
            await self._serve_one()

    async def _serve_hungry(self) -> None:
        exchange = await Exchange(f"/{self.random.choice(OLD)}").run(self._bounded)
        last = exchange.events[-1]
        assert exchange.complete
        assert last["type"] == "RUN_FINISHED" or last["code"] == "AGUI_EVENT_TOO_LARGE", last
        self.ends[f"hungry, {last['type']}"] += 1
        self.served += 1

    async def _hungry_agent(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(OSError):  # the run was ended
            await self._stream(send, self.random.choice(self._hungry))

    async def _serve_one(self) -> None:
        if self.random.random() < 0.1:
            await self._serve_hungry()
            return
        mode, way = self.random.choice(list(SEEN)), self.random.choice(WAYS)
        leaves_at = self.random.randrange(len(FRAMES))
        exchange, cancelling = Exchange(f"/{mode}"), anyio.CancelScope()

        def leave_in_time(_: Message) -> None:
            if way != "stays" and len(exchange.sent) > leaves_at:
                if way == "send raises":
                    raise OSError("the client has left")
                exchange.disconnect() if way == "receive tells" else cancelling.cancel()

        exchange.on_send = leave_in_time
        with cancelling:
            try:
                await exchange.run(self.app)
            except* OSError:
                pass
        self._check(exchange, mode, way)

    def _check(self, exchange: Exchange, mode: str, way: str) -> None:
        reference = SEEN[mode]
        assert exchange.events == reference[: len(exchange.events)], (mode, way, exchange.body)
        assert exchange.complete or way != "stays", (mode, way)
        if exchange.complete:
            assert exchange.events == reference, (mode, way, exchange.body)
        self.ends[f"{way}, {'whole' if exchange.complete else 'left'}"] += 1
        self.served += 1

    async def _agent(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        async with anyio.create_task_group() as group:
            group.start_soon(self._cancel_when_left, receive, group.cancel_scope)
            if self.random.random() < 0.5:
                group.start_soon(self._ping, send)
                await self._stream(send, FRAMES)
            else:  # without pings, which would fall into the middle of an event
                await self._stream(send, self._cut())
            group.cancel_scope.cancel()

    async def _cancel_when_left(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _ping(self, send: Send) -> None:
        while True:
            await anyio.sleep(self.random.random() * STALL)
            await send(body(b": ping\n\n"))

    def _cut(self) -> list[bytes]:
        whole = b"".join(FRAMES)
        places = sorted(self.random.sample(range(1, len(whole)), self.random.randrange(40)))
        return [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]

    async def _stream(self, send: Send, parts: list[bytes]) -> None:
        await send(EVENT_STREAM)
        for part in parts:
            if self.random.random() < 0.2:
                await anyio.sleep(self.random.random() * STALL)
            await send(body(part))
        await send(END)

    async def _dawdling(self, events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if self.random.random() < 0.1:
                await anyio.sleep(self.random.random() * STALL)
            yield event


def soak(streams: int, seconds: float, loop: str, seed: int = 0) -> Soak:
    """Run one soak, behind a tenth to warm up, on a loop of its own. Raises `AssertionError` for what must not happen."""
    result = Soak(random.Random(seed))
    logging.disable(logging.ERROR)
    tracemalloc.start()
    try:

        async def scenario() -> None:
            await result.run(streams, seconds / 10)  # what is made once: plans, caches, the event loop's own tables
            result.memory["before"] = held()
            await result.run(streams, seconds)
            result.memory["peak"] = tracemalloc.get_traced_memory()[1]
            result.memory["after"] = held()
            assert result.memory["after"] - result.memory["before"] < SLACK, (result.memory, result.served)

        def held() -> int:
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        run_clean(scenario, loop, seconds=2 * seconds + HANGS)
    finally:
        tracemalloc.stop()
        logging.disable(logging.NOTSET)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="of each event loop")
    parser.add_argument("--loop", choices=LOOPS, action="append", help="all by default")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for loop in arguments.loop or LOOPS:
        result = soak(arguments.streams, arguments.seconds, loop, arguments.seed)
        print(f"{loop}: {result.served} streams, {dict(sorted(result.ends.items()))}, bytes {result.memory}")


if __name__ == "__main__":
    main()
