"""Over a socket: what is left of the cost, and of the latency, when there is a server and a network around the app.

Each contender is a process of its own, and they take turns. The clients are one other process, this one; so two processors
are needed, and what they wait for each other is in all numbers.

`python -m tests.benchmarks.sockets [httptools|h11]`
"""

import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, cast

import uvloop

from tests.benchmarks.timing import Spread

CONTENDERS = ("bare", "floor", "passing", "inline")
EVENTS_A_SECOND = 50  # of a paced stream: a fast model's tokens
PACED_EVERY = 4  # turns: one of them takes seconds, an unpaced one less than a second
_STAMP = re.compile(rb'"delta":"(\d+) ')
_LAST_CHUNK = b"\r\n0\r\n\r\n"


class Server(NamedTuple):
    """A running `tests.benchmarks.server`."""

    pid: int
    port: int

    @property
    def processor_seconds(self) -> float:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in (self.pid, *children)]
        return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")

    @property
    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serving(contender: str, processes: int = 1, http: str = "httptools") -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.benchmarks.server", contender, str(processes), http]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None  # as asked for
        try:
            yield Server(process.pid, int(process.stdout.readline()))
        finally:
            os.killpg(process.pid, signal.SIGKILL)


class Reader(asyncio.Protocol):
    """One client: asks, and notes how long each event was on its way."""

    def __init__(self, query: str) -> None:
        self._request = f"POST /?{query} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n".encode()
        self._rest = b""
        self._transport: asyncio.BaseTransport | None = None
        self.latencies: list[float] = []
        self.ended = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        cast(asyncio.Transport, transport).write(self._request)  # uvloop's own is none by its class

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        data = self._rest + data
        end = 0
        for match in _STAMP.finditer(data):
            self.latencies.append((now - int(match[1])) / 1e9)
            end = match.end()
        self._rest = data[max(end, len(data) - 200) :]
        if data.endswith(_LAST_CHUNK) and not self.ended.done():
            self.close()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(ConnectionError("the server closed a stream early"))

    def close(self) -> None:
        self.ended.set_result(None)
        assert self._transport is not None
        self._transport.close()


async def read(server: Server, streams: int, query: str, spread_over: float = 0.0) -> list[Reader]:
    """Read so many streams at once, begun evenly within `spread_over` seconds."""
    loop = asyncio.get_running_loop()
    readers = []
    for _ in range(streams):
        _, reader = await loop.create_connection(lambda: Reader(query), "127.0.0.1", server.port)
        readers.append(reader)
        await asyncio.sleep(spread_over / streams)
    await asyncio.gather(*(reader.ended for reader in readers))
    return readers


class Load(NamedTuple):
    """One turn of unpaced streams."""

    events_a_second: float
    processor_seconds_an_event: float


async def load(server: Server, streams: int, events: int) -> Load:
    start, used = time.monotonic(), server.processor_seconds
    readers = await read(server, streams, f"events={events}")
    took, used = time.monotonic() - start, server.processor_seconds - used
    received = sum(len(reader.latencies) for reader in readers)
    if received != streams * events:
        raise AssertionError(f"{received} events of {streams * events} arrived")
    return Load(received / took, used / received)


async def pace(server: Server, streams: int, seconds: float) -> tuple[float, float]:
    """The median and the 99th percentile of the latency of the events of paced streams, in milliseconds."""
    query = f"events={int(seconds * EVENTS_A_SECOND)}&pause={1000 / EVENTS_A_SECOND}"
    readers = await read(server, streams, query, spread_over=1 / EVENTS_A_SECOND if streams < 10 else 0.5)
    centiles = statistics.quantiles((late * 1e3 for reader in readers for late in reader.latencies), n=100)
    return centiles[49], centiles[98]


async def resident(contender: str, streams: int) -> float:
    """Bytes of memory that an open stream takes, in a process that has served as many before."""
    with serving(contender) as server:
        await read(server, streams, "events=20")
        before = server.resident_bytes
        opened = asyncio.gather(read(server, streams, "events=20&linger=3"))
        await asyncio.sleep(2.5)
        held = server.resident_bytes
        await opened
    return (held - before) / streams


async def measure(rounds: int, seconds: float, http: str = "httptools") -> dict[str, dict[str, dict[str, Spread]]]:
    """By number of streams and contender: ratios of events a second and processor time, and added latency in ms."""
    result: dict[str, dict[str, dict[str, Spread]]] = {}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving(name, http=http)) for name in CONTENDERS}
        for streams in (1, 50, 500):
            loads: dict[str, list[Load]] = {name: [] for name in servers}
            paces: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
            for turn in range(rounds + 1):  # the first warms up
                for name, server in servers.items():
                    loads[name].append(await load(server, streams, 20_000 // streams))
                    if turn and turn % PACED_EVERY == 0:
                        paces[name].append(await pace(server, streams, seconds))
            result[f"{streams} streams"] = {
                name: compared(loads[name][1:], loads["bare"][1:], paces[name], paces["bare"])
                for name in CONTENDERS[1:]
            }
    return result


def compared(
    loads: list[Load], bare_loads: list[Load], paces: list[tuple[float, float]], bare_paces: list[tuple[float, float]]
) -> dict[str, Spread]:
    pairs, latencies = list(zip(loads, bare_loads, strict=True)), list(zip(paces, bare_paces, strict=True))
    cpu = [(mine.processor_seconds_an_event, bare.processor_seconds_an_event) for mine, bare in pairs]
    return {
        "events a second": Spread.of(mine.events_a_second / bare.events_a_second for mine, bare in pairs),
        "processor time": Spread.of(mine / bare for mine, bare in cpu),
        "added p50 ms": Spread.of(mine[0] - bare[0] for mine, bare in latencies),
        "added p99 ms": Spread.of(mine[1] - bare[1] for mine, bare in latencies),
        "p99 ms of bare": Spread.of(bare[1] for _, bare in latencies),
    }


async def memory(streams: int = 500) -> dict[str, float]:
    """KiB that an open stream takes more than one of the bare app."""
    bare = statistics.median([await resident("bare", streams) for _ in range(3)])
    inline = statistics.median([await resident("inline", streams) for _ in range(3)])
    return {"of bare": bare / 1024, "added by inline": (inline - bare) / 1024}


def main(http: str = "httptools") -> None:
    for streams, contenders in uvloop.run(measure(16, 1.0, http)).items():
        for contender, ratios in contenders.items():
            print(f"{http}, {streams:12}{contender:10}", *(f"{name} {of:.3f}" for name, of in ratios.items()), sep="  ")


if __name__ == "__main__":
    main(*sys.argv[1:])
    print(uvloop.run(memory()))
