"""Fair timing on a machine that others use too: contenders take turns, and only what they cost of one another is said.

A turn is a few milliseconds of processor time of this thread, and a round gives one to each contender, in an order drawn
anew; so a slow phase of the machine falls on all of them. Ratios are taken within a round; their median is reported, and
their quartiles as the spread.
"""

import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import NamedTuple

Turn = Callable[[], Awaitable[None]]


class Spread(NamedTuple):
    """The median of a sample, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, sample: Iterable[float]) -> "Spread":
        values = sorted(sample)
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)

    def __format__(self, spec: str) -> str:
        return f"{self.median:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


Rounds = Mapping[str, list[float]]
"""Seconds of processor time, by contender; the n-th entries of all are of one round."""


async def alternate(turns: Mapping[str, Turn], rounds: int) -> Rounds:
    """Let the contenders take turns. The garbage collector works for all of them as it does for a user."""
    times: dict[str, list[float]] = {name: [] for name in turns}
    for turn in turns.values():  # caches, lazy imports, the interpreter's specialised instructions
        await turn()
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for name in random.sample(list(turns), len(turns)):
            times[name].append(await timed(turns[name]))
    gc.unfreeze()
    return times


async def timed(turn: Turn) -> float:
    start = time.thread_time()
    await turn()
    return time.thread_time() - start


def added(times: Rounds, name: str, over: str = "bare") -> list[float]:
    """What a contender costs more than another, round by round."""
    return [mine - theirs for mine, theirs in zip(times[name], times[over], strict=True)]


def ratio(times: Rounds, name: str, to: str, over: str = "bare") -> Spread:
    """What a contender adds, as a multiple of what another one adds."""
    pairs = zip(added(times, name, over), added(times, to, over), strict=True)
    return Spread.of(mine / theirs for mine, theirs in pairs if theirs > 0)
