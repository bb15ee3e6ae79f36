"""`python -m tests.benchmarks.workers`: what several server processes carry that share one listening socket.

The clients are this one process, and take a processor of their own: where there are fewer than processes and one, the
processor time an event tells more than events a second.
"""

import statistics

import uvloop

from tests.benchmarks.sockets import load, serving

CONTENDERS = ("bare", "floor", "passing", "inline", "0.0.58")
PROCESSES = (1, 2, 4)
STREAMS = 100
EVENTS = 400  # a stream


async def measure(rounds: int) -> dict[tuple[int, str], tuple[float, float]]:
    """By processes and contender: events a second, and microseconds of processor time an event; medians."""
    result = {}
    for processes in PROCESSES:
        for contender in CONTENDERS:
            with serving(contender, processes) as server:
                await load(server, STREAMS, 20)  # warms up
                loads = [await load(server, STREAMS, EVENTS) for _ in range(rounds)]
            result[processes, contender] = (
                statistics.median(turn.events_a_second for turn in loads),
                statistics.median(turn.processor_seconds_an_event for turn in loads) * 1e6,
            )
    return result


if __name__ == "__main__":
    for (processes, contender), (rate, cost) in uvloop.run(measure(5)).items():
        print(f"{processes} processes  {contender:8}  {rate:9,.0f} events a second  {cost:6.1f} us an event")
