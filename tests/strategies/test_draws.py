"""The strategies draw what they promise: streams that the real client accepts, and all of the protocol."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from ag_ui.core import EventType
from hypothesis import find, given, settings
from hypothesis import strategies as st

from tests.strategies import SHAPES, InvalidStream, Json, batch, canonical, features, plain, read, runs
from tests.strategies.features import SITUATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.client import Client, Outcome

pytestmark = pytest.mark.generator
EXAMPLES = 120
VARIANTS: dict[str, Json] = {
    "all": {},
    "secrets": {"secrets": True},
    "reown": {"reown": True},
    "explicit": {"chunks": False},
    "parent only": {"subagents": False},
}


def ends_as_read(outcome: Outcome, events: list[Json]) -> bool:
    messages, state = read(events)
    return bool(canonical([outcome.messages, outcome.state]) == canonical([messages, state]))


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_are_accepted_and_end_as_the_reader_says(client: Callable[[str], Client], variant: str) -> None:
    examples = batch(runs(**VARIANTS[variant]), EXAMPLES)
    outcomes = client("1.0.0").read_many([plain(events) for events in examples])
    for events, outcome in zip(examples, outcomes, strict=True):
        assert outcome.accepted, (outcome.error, events)
        assert ends_as_read(outcome, events), events


@st.composite
def damaged(draw: st.DrawFn) -> list[Json]:
    """A run with one event lost, repeated, moved or given to another owner."""
    events: list[Json] = draw(runs(max_moves=15))
    place = draw(st.integers(0, len(events) - 1))
    event, rest = events[place], events[:place] + events[place + 1 :]
    match draw(st.sampled_from(("lost", "repeated", "moved", "retagged"))):
        case "lost":
            return rest
        case "repeated":
            return [*events[:place], event, *events[place:]]
        case "moved":
            return [*rest[: place + 1], event, *rest[place + 1 :]]
    tag = draw(st.sampled_from(("s1", "s2", "other")))
    return [*events[:place], event | {"subagentRunId": tag}, *events[place + 1 :]]


def test_reader_refuses_what_the_client_refuses(client: Callable[[str], Client]) -> None:
    examples = [events for events in batch(damaged(), 3 * EXAMPLES) if events]
    outcomes = client("1.0.0").read_many([plain(events) for events in examples])
    verdicts: Counter[bool] = Counter()
    for events, outcome in zip(examples, outcomes, strict=True):
        try:
            assert ends_as_read(outcome, events), events
            accepted = True
        except InvalidStream:
            accepted = False
        assert outcome.accepted == accepted, (outcome.error, events)
        verdicts[accepted] += 1
    assert min(verdicts[True], verdicts[False]) > EXAMPLES / 4


def test_runs_draw_every_event_type_shape_and_situation() -> None:
    examples = batch(runs(), 4 * EXAMPLES)
    found = {name for events in examples for name in features(events)}
    assert found == SHAPES | SITUATIONS | {type_.value for type_ in EventType}
    lengths = sorted(len(events) for events in examples)
    assert lengths[len(lengths) // 2] > 20


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_runs_without_a_shape_do_not_show_it(data: st.DataObject) -> None:
    without = data.draw(st.sets(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=8))
    events = data.draw(runs(without=without))
    assert not features(events) & without


def test_runs_refuse_an_unknown_shape() -> None:
    with pytest.raises(ValueError, match=r"no such shapes: .*chunk"):
        runs(without=["chunk"])  # type: ignore[list-item]


def test_runs_refuse_secrets_that_change_hands() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        runs(secrets=True, reown=True)


def test_runs_shrink_to_a_few_events() -> None:
    reproducible = settings(max_examples=300, database=None, deadline=None, derandomize=True)
    smallest = find(runs(), lambda events: "parallel lanes of one kind" in features(events), settings=reproducible)
    assert len(smallest) <= 12
