"""`python -m tests.benchmarks.many`: what streams hold that are open at the same time, and what they cost one another.

Memory is counted by tracemalloc, so that it is the same on a busy machine. The time of interleaved streams is that of this
thread, as a multiple of what the same streams take one after another: caches of the processor, and the garbage collector.
"""

import asyncio
import gc
import statistics
import tracemalloc
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.benchmarks.contenders import CONTENDERS
from tests.benchmarks.requests import request
from tests.benchmarks.streams import subagents_deltas
from tests.benchmarks.timing import Turn, alternate

NAMES = ("passing", "hidden", "inline", "0.0.58", "0.0.36")
INTERLEAVED = ("floor", "inline", "0.0.58")
OPEN = 200
STREAMS = 2000
EVENTS = 50
_START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8")],
}
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


async def _receive() -> Message:
    return {"type": "http.request", "body": b"{}", "more_body": False}


async def _send(message: Message) -> None:
    pass


def streaming(bodies: list[bytes], wait: Callable[[], Awaitable[object]]) -> ASGIApp:
    """An app that awaits `wait` in front of each body, and of the end."""
    messages: list[Message] = [{"type": "http.response.body", "body": body, "more_body": True} for body in bodies]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(_START)
        for message in (*messages, _END):
            await wait()
            await send(message)

    return app


async def held(name: str, answered: bool) -> float:
    """Bytes that a stream holds after its first tokens; or, before it is answered, a request."""
    bodies = subagents_deltas(8).frames if answered else []
    gate, waiting = asyncio.Event(), asyncio.Semaphore(0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if bodies:
            await send(_START)
        for body in bodies:
            await send({"type": "http.response.body", "body": body, "more_body": True})
        waiting.release()
        await gate.wait()

    async def ask(app: ASGIApp) -> None:
        await app(request(), _receive, _send)

    wrapped = CONTENDERS[name](app)
    taken = 0
    for count in (20, OPEN):  # the first ones fill caches
        gate.clear()
        gc.collect()
        tracemalloc.start()
        tasks = [asyncio.create_task(ask(wrapped)) for _ in range(count)]
        for _ in tasks:
            await waiting.acquire()
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        gate.set()
        await asyncio.wait(tasks)
    return taken / OPEN


async def memory() -> dict[str, dict[str, float]]:
    """KiB by contender: of an open stream and of a request on its way, more than in the bare app."""
    kinds = {"an open stream": True, "a request on its way": False}
    bare = {kind: await held("bare", answered) for kind, answered in kinds.items()}
    return {
        name: {kind: (await held(name, answered) - bare[kind]) / 1024 for kind, answered in kinds.items()}
        for name in NAMES
    }


def _taking(name: str, at_once: bool) -> Turn:
    app = CONTENDERS[name](
        streaming(subagents_deltas(EVENTS).frames, (lambda: asyncio.sleep(0)) if at_once else _nothing)
    )

    async def take() -> None:
        if at_once:
            await asyncio.gather(*(app(request(), _receive, _send) for _ in range(STREAMS)))
        else:
            for _ in range(STREAMS):
                await app(request(), _receive, _send)

    return take


async def _nothing() -> None:
    pass


async def interleaved(rounds: int) -> dict[str, float]:
    """By contender, what it adds to the bare app for an event of interleaved streams, as a multiple of one after another."""
    turns = {(name, at_once): _taking(name, at_once) for name in ("bare", *INTERLEAVED) for at_once in (False, True)}
    times = await alternate({f"{name} {at_once}": take for (name, at_once), take in turns.items()}, rounds)

    def added(name: str, at_once: bool) -> float:
        pairs = zip(times[f"{name} {at_once}"], times[f"bare {at_once}"], strict=True)
        return statistics.median(mine - bare for mine, bare in pairs)

    return {name: added(name, True) / added(name, False) for name in INTERLEAVED}


def main() -> None:
    for name, sizes in asyncio.run(memory()).items():
        print(f"{name:8}", *(f"{kind}: {size:5.1f} KiB" for kind, size in sizes.items()))
    for name, ratio in asyncio.run(interleaved(2)).items():
        print(f"{name:8} {STREAMS:,} streams of {EVENTS} events interleaved / one after another: {ratio:.2f}")


if __name__ == "__main__":
    main()
