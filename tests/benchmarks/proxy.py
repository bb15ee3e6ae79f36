"""`python -m tests.benchmarks.proxy`: what `agui-middleware proxy` leaves of the speed of the server behind it.

Three processes, the agent of `server`, the proxy before it, and the clients, on a machine that others use too: the agent is
asked directly and through each proxy in turns, and only ratios and differences within a round are told.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import uvloop

from tests.benchmarks.sockets import Load, Server, load, pace, serving
from tests.benchmarks.timing import Spread

# What a proxy does with the stream, by the release that it takes its clients for.
PROXIES = {"passing": "current", "inline": "0.0.58"}
_RUNNING = re.compile(r"Uvicorn running on http://127.0.0.1:(\d+)")


@contextmanager
def proxying(upstream: Server, default_client: str) -> Iterator[Server]:
    """A running proxy before `upstream`."""
    words = ["proxy", "--upstream", f"http://127.0.0.1:{upstream.port}", "--port", "0"]
    command = [
        "env",
        f"AGUI_MIDDLEWARE_DEFAULT_CLIENT={default_client}",
        sys.executable,
        "-m",
        "agui_middleware",
        *words,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None  # as asked for
        try:
            running = next(found for line in process.stderr if (found := _RUNNING.search(line)))
            yield Server(process.pid, int(running[1]))
        finally:
            process.kill()


async def measure(streams: int, rounds: int, events: int, seconds: float) -> dict[str, dict[str, Spread]]:
    """By proxy: the share of the agent's events a second that is left, what an event costs of what it costs the agent, and
    what is added to the median latency of paced streams.
    """
    loads: dict[str, list[Load]] = {}
    medians: dict[str, list[float]] = {}
    with ExitStack() as stack:
        bare = stack.enter_context(serving("bare"))
        proxies = {name: stack.enter_context(proxying(bare, release)) for name, release in PROXIES.items()}
        for turn in range(rounds + 1):
            for name, server in {"bare": bare, **proxies}.items():
                loaded, (median, _) = (
                    await load(server, streams, events // streams),
                    await pace(server, streams, seconds),
                )
                if turn:  # the first turn warms up
                    loads.setdefault(name, []).append(loaded)
                    medians.setdefault(name, []).append(median)
    return {name: compared(loads[name], loads["bare"], medians[name], medians["bare"]) for name in proxies}


def compared(loads: list[Load], bare: list[Load], medians: list[float], bare_medians: list[float]) -> dict[str, Spread]:
    """Ratios, and milliseconds, within each round."""
    pairs = list(zip(loads, bare, strict=True))
    return {
        "events a second": Spread.of(mine.events_a_second / its.events_a_second for mine, its in pairs),
        "processor time": Spread.of(
            mine.processor_seconds_an_event / its.processor_seconds_an_event for mine, its in pairs
        ),
        "added p50 ms": Spread.of(mine - its for mine, its in zip(medians, bare_medians, strict=True)),
    }


if __name__ == "__main__":
    for streams in (1, 50):
        for name, figures in uvloop.run(measure(streams, 3, 20_000, 2.0)).items():
            print(
                f"{streams} streams, {name}:",
                *(f"{figure} {spread:.2f}" for figure, spread in figures.items()),
                sep="  ",
            )
