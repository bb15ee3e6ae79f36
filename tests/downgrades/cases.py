"""The streams of the proof: every case of the corpus, and a few hundred drawn runs that are always the same ones."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from agui_middleware import rewrite
from tests.clients.client import Run
from tests.clients.corpus import Corpus
from tests.strategies import Json, plain, runs
from tests.strategies.reader.lanes import Lanes

SEEDS, EACH, MOVES = 70, 4, 15


@dataclass(frozen=True)
class Case:
    """One stream that 1.0.0 accepts, with its request."""

    name: str
    run: Run

    @cached_property
    def events(self) -> list[Json]:
        """The events of the stream, however it is framed."""
        return events_of(rewrite(self.run.stream))

    @cached_property
    def expanded(self) -> list[Json]:
        """The events with chunks as START, CONTENT and END."""
        lanes, events = Lanes(), []
        for event in self.events:
            if event["type"].startswith("THINKING_"):  # as REASONING_* do, they close the parent's lane
                events += lanes.expand({"type": "CUSTOM"})[:-1]
            events += lanes.expand(event)
        return events

    @property
    def tagged(self) -> bool:
        """Whether anything in it is a subagent's."""
        return "subagent" in json.dumps(self.events).lower()

    def sent(self, stream: bytes) -> Run:
        """The same request, answered with another stream."""
        return replace(self.run, stream=stream, chunks=())


def events_of(stream: bytes) -> list[Json]:
    """The events of a stream in the framing that the middleware writes."""
    frames = stream.decode("utf-8", "surrogatepass").split("\n\n")
    lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@cache
def cases() -> tuple[Case, ...]:
    """All of them. Left out are the bodies without a single event: there is no run in them to be read."""
    drawn = (Case(f"drawn:{index}", Run(plain(events))) for index, events in enumerate(_drawn()))
    return tuple(case for case in [*_corpus(), *drawn] if case.events)


def _corpus() -> Iterator[Case]:
    for case in Corpus.load().cases:
        yield Case(case.name, case.run)


def _drawn() -> list[list[Json]]:
    """A few runs for each of many seeds: of one seed, the engine draws whole families of nearly the same run."""
    collected: dict[str, None] = {}

    def collect(events: list[Json]) -> None:
        collected[json.dumps(events)] = None

    for number in range(SEEDS):
        draw = settings(
            database=None,
            deadline=None,
            max_examples=EACH,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(runs(max_moves=MOVES))(lambda events: collect(events)))
        seed(number)(draw)()
    return [json.loads(events) for events in collected]


def stream(*events: dict[str, Any]) -> bytes:
    """Events as the bytes of a response."""
    return plain(events)
