"""Every installed producer, its endpoint wrapped, in a conversation with real clients: `.ci/producers` runs this.

Not collected with the rest: the packages are heavy, and not all of them can be installed side by side.
"""

import asyncio

import pytest

from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case
from tests.downgrades.proof import StartClient, Trial
from tests.producers.apps import installed, scenarios
from tests.producers.reading import READERS, REFUSED, expect, faults
from tests.producers.scenario import converse

SCENARIOS = [
    (producer, name) for producer in installed() for name in scenarios(producer) if f"{producer}/{name}" not in REFUSED
]


def test_a_producer_is_installed() -> None:
    assert installed()


@pytest.mark.parametrize("release", READERS)
@pytest.mark.parametrize(("producer", "name"), SCENARIOS)
def test_conversation_is_read_as_declared(client: StartClient, producer: str, name: str, release: str) -> None:
    scenario = scenarios(producer)[name]
    exchanges = asyncio.run(converse(scenario, client(release)))
    cases = [Case(f"{producer}/{name}", exchange.run) for exchange in exchanges]
    expected = expect(client(REFERENCE), cases, "auto")
    trials = [
        Trial(release, case, "auto", exchange.received, exchange.outcome, end)
        for case, exchange, end in zip(cases, exchanges, expected, strict=True)
    ]
    assert [trial.expected.error for trial in trials if not trial.expected.accepted] == []
    assert faults(trials) == []
    assert len(exchanges) == len(scenario.turns)
