"""Agents of the older dialect, for clients that read outcomes."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_middleware import Context, Event
from agui_middleware.config.planning import make_plan
from agui_middleware.filters.interrupt_outcomes import interrupts_as_outcome
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.json_object import encode
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.testing import run_filter

Json = dict[str, Any]
STARTED: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
OTHER: Json = {"type": "CUSTOM", "name": "progress", "value": 1}


async def async_iterator(events: list[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


def custom(value: Any, **more: Any) -> Json:
    return {"type": "CUSTOM", "name": "on_interrupt", "value": value, **more}


async def made(*events: Json) -> list[Any]:
    return [json.loads(encode(event)) for event in await run_filter(interrupts_as_outcome, events)]


async def asked(*customs: Json) -> list[Any]:
    """The interrupts of a run that ends with these."""
    started, end = await made(STARTED, *customs, FINISHED)
    assert started == STARTED
    assert end == {**FINISHED, "outcome": end["outcome"]}
    assert end["outcome"].keys() == {"type", "interrupts"}
    interrupts: list[Any] = end["outcome"]["interrupts"]
    return interrupts


@pytest.mark.parametrize(
    ("value", "interrupt"),
    [
        ("Which?", {"id": "r:1", "reason": "on_interrupt", "message": "Which?"}),
        (["a"], {"id": "r:1", "reason": "on_interrupt"}),
        ({"id": "i", "reason": "ask", "message": "m"}, {"id": "i", "reason": "ask", "message": "m"}),
        ('{"interruptId":"i","toolCallId":"c"}', {"id": "i", "reason": "on_interrupt", "toolCallId": "c"}),
        (
            {"id": 5, "reason": 5, "message": 5, "responseSchema": {}, "expiresAt": "x"},
            {"id": "r:1", "reason": "on_interrupt", "responseSchema": {}, "expiresAt": "x"},
        ),
    ],
)
async def test_an_announcement_becomes_an_interrupt(value: Any, interrupt: Json) -> None:
    assert await asked(custom(value)) == [interrupt | {"metadata": {"on_interrupt": value}}]


async def test_an_id_that_is_made_up_is_no_other_ones() -> None:
    """The answer to one would have been that to the other."""
    ids = [each["id"] for each in await asked(custom({"id": "r:2"}), custom("Which?"), custom({"id": "r:2_"}))]
    assert ids == ["r:2", "r:2__", "r:2_"]


async def test_an_announcement_without_a_value_is_one_too() -> None:
    assert await asked(custom(None)) == [{"id": "r:1", "reason": "on_interrupt"}]


async def test_ids_are_different() -> None:
    assert [each["id"] for each in await asked(custom({"id": "i"}), custom({"id": "i"}), custom(1))] == [
        "i",
        "r:2",
        "r:3",
    ]


async def test_the_tag_of_a_subagent_stays_with_its_interrupt() -> None:
    assert (await asked(custom(1, subagentRunId="s")))[0]["subagentRunId"] == "s"


async def test_a_success_of_the_agents_own_is_replaced() -> None:
    end = (await made(custom("a"), {**FINISHED, "outcome": {"type": "success"}}))[-1]
    assert end["outcome"]["type"] == "interrupt"


async def test_an_agent_that_speaks_both_dialects_is_taken_by_its_outcome() -> None:
    end = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}]}}
    assert await made(STARTED, custom("a"), end) == [STARTED, end]


@pytest.mark.parametrize("outcome", ["success", {"type": "cancelled"}, {"type": "later"}])
async def test_a_run_that_ends_otherwise_keeps_its_announcements(outcome: Any) -> None:
    end = {**FINISHED, "outcome": outcome}
    assert await made(STARTED, custom("a"), OTHER, end) == [STARTED, OTHER, custom("a"), end]


@pytest.mark.parametrize("end", [[], [{"type": "RUN_ERROR", "message": "m"}], [STARTED]])
async def test_a_run_that_does_not_finish_keeps_its_announcements(end: list[Json]) -> None:
    assert await made(STARTED, custom("a"), *end) == [STARTED, custom("a"), *end]


async def test_runs_of_one_stream_have_interrupts_of_their_own() -> None:
    ends = [event.get("outcome") for event in await made(STARTED, custom(1), FINISHED, STARTED, FINISHED)]
    assert [outcome is None for outcome in ends] == [True, False, True, True]


async def test_what_is_held_counts() -> None:
    context = Context(max_event_bytes=400)
    events = [Event(**event) for event in (STARTED, custom("x" * 100), custom("x" * 100))]
    with pytest.raises(EventTooLarge):
        [event async for event in interrupts_as_outcome(async_iterator(events), context)]


async def test_what_is_let_out_counts_no_longer() -> None:
    context = Context(max_event_bytes=400)
    events = [Event(**event) for event in (custom("x" * 100), FINISHED, custom("x" * 100), FINISHED)]
    assert len([event async for event in interrupts_as_outcome(async_iterator(events), context)]) == 2


@pytest.mark.parametrize(("client", "dialect"), [(None, "outcome"), ("1.0.0", "outcome"), ("0.0.54", "outcome")])
def test_clients_that_read_outcomes_get_them(client: str | None, dialect: str) -> None:
    plan = make_plan(client and ClientVersion.parse(client), interrupts="outcome")  # type: ignore[arg-type]
    assert plan.interrupts == dialect
    assert interrupts_as_outcome in plan.composition.filters


def test_a_client_and_an_agent_of_the_older_dialect_need_nothing() -> None:
    plan = make_plan(ClientVersion.parse("0.0.53"), interrupts="outcome")
    assert plan.interrupts is None
    assert interrupts_as_outcome not in plan.composition.filters


@pytest.mark.parametrize(("client", "dialect"), [(None, None), ("0.0.54", None), ("0.0.53", "custom")])
def test_auto_goes_by_what_the_client_reads(client: str | None, dialect: str | None) -> None:
    assert make_plan(client and ClientVersion.parse(client)).interrupts == dialect  # type: ignore[arg-type]
