"""Every installed producer, its endpoint wrapped, in a conversation with real clients: `.ci/producers` runs this.

Not collected with the rest: the packages are heavy, and not all of them can be installed side by side.
"""

import asyncio
from collections.abc import Callable

import pytest

from tests.clients.client import Client
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case
from tests.downgrades.proof import Trial
from tests.producers.apps import installed, scenarios
from tests.producers.reading import READERS, REFUSED, faults
from tests.producers.scenario import converse

SCENARIOS = [
    (producer, name) for producer in installed() for name in scenarios(producer) if f"{producer}/{name}" not in REFUSED
]


def test_a_producer_is_installed() -> None:
    assert SCENARIOS


@pytest.mark.parametrize("release", READERS)
@pytest.mark.parametrize(("producer", "name"), SCENARIOS)
def test_conversation_is_read_as_declared(
    client: Callable[[str], Client], producer: str, name: str, release: str
) -> None:
    scenario = scenarios(producer)[name]
    exchanges = asyncio.run(converse(scenario, client(release)))
    ends = client(REFERENCE).read_many(exchange.run for exchange in exchanges)
    trials = [
        Trial(release, Case(f"{producer}/{name}", exchange.run), "auto", exchange.received, exchange.outcome, end)
        for exchange, end in zip(exchanges, ends, strict=True)
    ]
    assert faults(trials) == []
    assert len(exchanges) == len(scenario.turns)
