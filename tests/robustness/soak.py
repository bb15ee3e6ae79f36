"""Many streams at once, with random cuts, stalls and leaves: `python -m tests.robustness.soak --streams 1000 --seconds 60`.

Clients of four ages go on with their conversations, of which a store in memory keeps what they do not get; the stalls are
long enough for comments that keep a connection alive. Every stream that was read to its end equals its reference, one that
was left is a beginning of it, and when all are over the memory is what it was after the warm-up, a tenth of the time. One
in ten is a stream of `hungry.py` under a small `max_event_bytes`. Everything happens in one process, without sockets: what
a server adds is `test_servers.py`'s.
"""

import argparse
import gc
import json
import logging
import random
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.types import Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings, rewrite
from tests.robustness.agents import FRAMES, SEEN
from tests.robustness.exchange import END, EVENT_STREAM, Exchange, body, events_of
from tests.robustness.hungry import HUNGRY, frames
from tests.robustness.leaks import LOOPS, run_clean

JSON = ((b"content-type", b"application/json"),)
STALL = 0.05  # seconds at most
MADE_ONCE = (
    300  # streams until everything that is made once is there: plans, caches, what is imported when it is needed
)
HANGS = 300.0  # seconds that a loaded machine may take for what is under way when the time is over
OLD = ("0.0.27", "0.0.36", "0.0.40", "0.0.45", "0.0.57")
CLIENTS = ("0.0.36", "0.0.45", "0.0.58", "1.0.0")
KEEP_ALIVE = 0.02  # seconds
STORED = 64 * 1024  # bytes that each of the two stores may hold
SLACK = 256 * 1024 + 2 * STORED  # bytes that may stay: caches, the interpreter's free lists, stores that were not full
WAYS = ("stays", "stays", "stays", "send raises", "receive tells", "is cancelled")


@dataclass
class Soak:
    """What a soak has seen so far."""

    random: random.Random
    ends: Counter[str] = field(default_factory=Counter)
    served: int = 0
    restored: int = 0
    """How often an agent was given again what a client had not got."""
    kept_alive: int = 0
    """How many comments were written into silence."""
    levels: list[int] = field(default_factory=list)
    """Bytes that Python holds when all streams are over: after the warm-up, in the middle, at the end."""
    peak: int = 0
    """Bytes that Python held at the most."""

    def __post_init__(self) -> None:
        routes = [Route(path=f"/{mode}", visibility=mode, filters=[self._dawdling]) for mode in SEEN]  # type: ignore[arg-type]
        kept: Any = {"history": "memory://", "history_memory_limit": STORED, "keep_alive": KEEP_ALIVE}
        self.app = AGUIMiddleware(self._agent, Settings(routes=routes, **kept))
        self._hungry = [frames(stream, 10) for stream in HUNGRY.values()]
        greedy = [Route(path=f"/{release}", client=release, filters=[self._dawdling]) for release in OLD]
        self._bounded = AGUIMiddleware(self._hungry_agent, Settings(routes=greedy, max_event_bytes=20_000, **kept))
        self._references = {
            (mode, client): events_of(rewrite(b"".join(FRAMES), client=client, visibility=mode))
            for mode in SEEN
            for client in CLIENTS
        }

    async def run(self, streams: int, seconds: float) -> None:
        """Keep `streams` streams going, a new one for each that ends, for so many seconds."""
        deadline = anyio.current_time() + seconds
        async with anyio.create_task_group() as group:
            for _ in range(streams):
                group.start_soon(self._serve_until, deadline)

    async def _serve_until(self, deadline: float) -> None:
        while anyio.current_time() < deadline:
            # Conversations that go on, and now and then a new one, so that the store has to forget some.
            thread = self.random.randrange(10) if self.random.random() < 0.9 else self.random.random()
            await (self._serve_hungry if self.random.random() < 0.1 else self._serve_one)(
                posted(f"t{thread}", self.random.choice([1, 2]))
            )

    async def _serve_hungry(self, posted: bytes) -> None:
        exchange = await Exchange(f"/{self.random.choice(OLD)}", headers=JSON, body=[posted]).run(self._bounded)
        last = exchange.events[-1]
        assert exchange.complete
        assert last["type"] == "RUN_FINISHED" or last["code"] == "AGUI_EVENT_TOO_LARGE", last
        self.ends[f"hungry, {last['type']}"] += 1
        self.served += 1

    async def _hungry_agent(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(OSError):  # the run was ended
            await self._stream(send, self.random.choice(self._hungry))

    async def _serve_one(self, posted: bytes) -> None:
        mode, client, way = (self.random.choice(choices) for choices in (list(SEEN), CLIENTS, WAYS))
        leaves_at = self.random.randrange(len(FRAMES))
        named = (b"x-ag-ui-client-version", client.encode())
        exchange, cancelling = Exchange(f"/{mode}", headers=[*JSON, named], body=[posted]), anyio.CancelScope()

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
        self._check(exchange, mode, client, way)

    def _check(self, exchange: Exchange, mode: str, client: str, way: str) -> None:
        reference = self._references[mode, client]
        assert exchange.events == reference[: len(exchange.events)], (mode, client, way, exchange.body)
        assert exchange.complete or way != "stays", (mode, client, way)
        if exchange.complete:
            assert exchange.events == reference, (mode, client, way, exchange.body)
        self.kept_alive += sum(message.get("body") == b":\n\n" for message in exchange.sent if mode != "hidden")
        self.ends[f"{way}, {'whole' if exchange.complete else 'left'}"] += 1
        self.served += 1

    async def _agent(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = json.loads((await receive())["body"])["messages"]
        self.restored += scope["path"] == "/hidden" and any(message["id"] == "a" for message in given)
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


def posted(thread: str, turn: int) -> bytes:
    """The body of a turn, as a client posts it on a route that hides."""
    said = [("u", "user", "go"), ("p", "assistant", "two at once: "), ("u2", "user", "go on")]
    messages = [{"id": id, "role": role, "content": content} for id, role, content in said[: 2 * turn - 1]]
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return json.dumps({"threadId": thread, "runId": "r", "messages": messages, **empty}).encode()


def soak(streams: int, seconds: float, loop: str, seed: int = 0) -> Soak:
    """Run one soak, behind a tenth to warm up, on a loop of its own. Raises `AssertionError` for what must not happen."""
    logging.disable(logging.ERROR)
    result = Soak(random.Random(seed))
    tracemalloc.start()
    try:

        async def scenario() -> None:
            while result.served < MADE_ONCE:
                await result.run(streams, seconds / 10)
            result.levels.append(held())
            for _ in range(2):
                await result.run(streams, seconds / 2)
                result.levels.append(held())
            result.peak = tracemalloc.get_traced_memory()[1]
            assert result.levels[-1] - result.levels[0] < SLACK, (result.levels, result.served)

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
        print(
            f"{loop}: {result.served} streams, {dict(sorted(result.ends.items()))}, {result.restored} restored,"
            f" {result.kept_alive} comments, bytes after the warm-up, in the middle and at the end {result.levels},"
            f" at the most {result.peak}",
            flush=True,
        )


if __name__ == "__main__":
    main()
