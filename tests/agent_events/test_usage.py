from typing import Any

from agui_middleware.agent_events import AgentEvent, Done, RunOutcome, TurnUsage, Usage
from agui_middleware.agent_events.models import MAX_COUNT
from tests.agent_events.loops import FINISHED, nest, said


def used(**counts: Any) -> TurnUsage:
    return TurnUsage(usage=Usage(**counts))


def done(**counts: Any) -> Done:
    return Done(outcome=RunOutcome(status="finished", usage=Usage(**counts)))


def usage(*events: AgentEvent) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = said(*events)[-1]["usage"]
    return entries


def test_run_that_told_no_usage_has_none() -> None:
    assert "usage" not in said(FINISHED)[-1]


def test_usage_has_an_entry_for_each_provider_and_model() -> None:
    assert usage(
        used(provider="p", model="m", input_tokens=1),
        used(provider="p", model="n", input_tokens=2),
        used(model="m", input_tokens=4),
        used(input_tokens=8),
        used(provider="p", model="m", input_tokens=16),
        FINISHED,
    ) == [
        {"provider": "p", "model": "m", "inputTokens": 17},
        {"provider": "p", "model": "n", "inputTokens": 2},
        {"model": "m", "inputTokens": 4},
        {"inputTokens": 8},
    ]


def test_usage_has_every_count_under_its_protocol_name() -> None:
    counts = used(
        input_tokens=50,
        output_tokens=40,
        reasoning_tokens=30,
        cached_input_tokens=20,
        cache_write_input_tokens=10,
    )
    assert usage(counts, FINISHED) == [
        {
            "inputTokens": 50,
            "outputTokens": 40,
            "reasoningTokens": 30,
            "cachedInputTokens": 20,
            "cacheWriteInputTokens": 10,
            "totalTokens": 90,
        }
    ]


def test_usage_includes_nested_runs_at_every_depth() -> None:
    deep = nest("deep", "d", used(input_tokens=4), FINISHED)
    assert usage(used(input_tokens=1), *nest("ask", "c", used(input_tokens=2), *deep), FINISHED) == [{"inputTokens": 7}]


def test_usage_of_an_outcome_counts_if_the_turns_told_none() -> None:
    assert usage(*nest("ask", "c", done(input_tokens=2)), done(input_tokens=1)) == [{"inputTokens": 3}]


def test_usage_of_an_outcome_does_not_count_the_turns_twice() -> None:
    assert usage(used(input_tokens=1), used(input_tokens=2), done(input_tokens=3)) == [{"inputTokens": 3}]


def test_usage_of_an_outcome_counts_for_a_run_whose_children_told_their_turns() -> None:
    assert usage(*nest("ask", "c", used(input_tokens=2), FINISHED), done(input_tokens=1)) == [{"inputTokens": 3}]


def test_total_is_added_up_from_given_and_computed_totals() -> None:
    assert usage(used(total_tokens=5), used(input_tokens=1, output_tokens=2), FINISHED)[0]["totalTokens"] == 8


def test_total_that_would_leave_a_turn_out_is_left_out() -> None:
    assert usage(used(total_tokens=5), used(input_tokens=1), FINISHED) == [{"inputTokens": 1}]


def test_zero_is_a_count() -> None:
    assert usage(used(input_tokens=0), FINISHED) == [{"inputTokens": 0}]


def test_usage_stays_within_what_clients_accept() -> None:
    most = used(input_tokens=MAX_COUNT, output_tokens=MAX_COUNT)
    assert usage(most, most, FINISHED) == [
        {"inputTokens": MAX_COUNT, "outputTokens": MAX_COUNT, "totalTokens": MAX_COUNT}
    ]
