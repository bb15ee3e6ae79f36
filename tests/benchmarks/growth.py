"""Whether the cost of an event stays what it is: with the length of a run, its subagents, and the size of an event."""

import json
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from agui_middleware import rewrite

Json = dict[str, object]
_CHUNK = 1024


def frame(event: Json) -> bytes:
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


def deltas(count: int, subagents: int = 1) -> Iterator[bytes]:
    """One text a subagent, and `count` deltas for them in turns."""
    yield frame({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
    tags = [f"subagent-{number}" for number in range(subagents)]
    for tag in tags:
        yield frame({"type": "TEXT_MESSAGE_START", "messageId": f"m-{tag}", "role": "assistant", "subagentRunId": tag})
    for number in range(count):
        tag = tags[number % subagents]
        yield frame({"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m-{tag}", "delta": "token", "subagentRunId": tag})


def one_event(size: int) -> Iterator[bytes]:
    """An event of about `size` bytes, in chunks of 1 KiB."""
    data = frame({"type": "STATE_SNAPSHOT", "snapshot": "x" * size, "subagentRunId": "s"})
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


def making(chunks: Iterable[bytes]) -> float:
    """Processor seconds that the chunks take to be made."""
    start = time.thread_time()
    for _ in chunks:
        pass
    return time.thread_time() - start


async def handed(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def rewriting(make: Callable[..., Iterable[bytes]], *size: int) -> float:
    """Processor seconds that it takes to rewrite what `make` gives, without those that making it takes."""
    start = time.thread_time()
    async for _ in rewrite(handed(make(*size)), visibility="inline"):
        pass
    return time.thread_time() - start - making(make(*size))


async def growth() -> dict[str, dict[str, float]]:
    """Microseconds an event, or a KiB, at each size."""
    runs = {count: await rewriting(deltas, count) for count in (1_000, 10_000, 100_000, 1_000_000)}
    owners = {count: await rewriting(deltas, 100_000, count) for count in (10, 100, 1_000, 10_000)}
    sizes = (100_000, 1_000_000, 8 * 1024 * 1024)
    events = {size: await rewriting(one_event, size) for size in sizes}
    return {
        "events": {str(count): round(seconds / count * 1e6, 3) for count, seconds in runs.items()},
        "subagents": {str(count): round(seconds / (100_000 + count) * 1e6, 3) for count, seconds in owners.items()},
        "bytes": {str(size): round(seconds / size * 1024 * 1e6, 3) for size, seconds in events.items()},
    }


async def memory() -> dict[str, float]:
    """The peak of one stream above its start, in KiB: a million events of one text, and one event of 8 MiB."""
    peaks = {}
    for name, chunks in (("a million events", deltas(1_000_000)), ("8 MiB", one_event(8 * 1024 * 1024))):
        tracemalloc.start()
        async for _ in rewrite(handed(chunks), visibility="inline"):
            pass
        peaks[name] = round(tracemalloc.get_traced_memory()[1] / 1024, 1)
        tracemalloc.stop()
    return peaks
