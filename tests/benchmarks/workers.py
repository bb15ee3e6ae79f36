"""`python -m tests.benchmarks.workers`: what several server processes carry that share one listening socket.

The clients are this one process, and take a processor of their own: where there are fewer than processes and one, the
processor time an event tells more than events a second.
"""

import statistics
from contextlib import ExitStack

import uvloop

from tests.benchmarks.sockets import load, serving

CONTENDERS = ("bare", "floor", "passing", "inline", "0.0.58")
PROCESSES = (1, 2, 4)
STREAMS = 100
EVENTS = 400  # a stream


async def measure(rounds: int) -> dict[tuple[int, str], tuple[float, float, float]]:
    """By processes and contender: events a second, microseconds of processor time an event, and that over the bare app's.

    Medians. The contenders take turns, and the last figure compares those of one turn.
    """
    result = {}
    for processes in PROCESSES:
        with ExitStack() as stack:
            servers = {name: stack.enter_context(serving(name, processes)) for name in CONTENDERS}
            for server in servers.values():
                await load(server, STREAMS, 20)  # warms up
            turns = [
                {name: await load(server, STREAMS, EVENTS) for name, server in servers.items()} for _ in range(rounds)
            ]
        for name in CONTENDERS:
            costs = [turn[name].processor_seconds_an_event for turn in turns]
            over_bare = [
                turn[name].processor_seconds_an_event / turn["bare"].processor_seconds_an_event for turn in turns
            ]
            rate = statistics.median(turn[name].events_a_second for turn in turns)
            result[processes, name] = rate, statistics.median(costs) * 1e6, statistics.median(over_bare)
    return result


if __name__ == "__main__":
    for (processes, name), (rate, cost, over_bare) in uvloop.run(measure(9)).items():
        print(
            f"{processes} processes  {name:8}  {rate:9,.0f} events/s  {cost:6.1f} us an event  {over_bare:5.2f} of bare"
        )
