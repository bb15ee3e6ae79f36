"""Runs that pause for an answer, for clients that read CUSTOM `on_interrupt`."""

import json
from typing import Any

import pytest

from agui_middleware import ClientVersion
from agui_middleware.config.planning import make_plan
from agui_middleware.testing import run_filter
from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

ASKED: Json = {"id": "i", "reason": "approval", "message": "Sure?", "toolCallId": "c"}
OTHER: Json = {"id": "j", "reason": "approval", "expiresAt": "2027-01-01T00:00:00Z"}
ANSWER: Json = {"outcome": {"type": "success"}}


def raised(id: str, raw: Any) -> Json:
    """An interrupt of ag-ui-langgraph."""
    return {"id": id, "reason": "langgraph:interrupt", "metadata": {"langgraph": {"raw": raw}}}


def custom(value: Any) -> Json:
    return {"type": "CUSTOM", "name": "on_interrupt", "value": value}


def paused(*interrupts: Any) -> Json:
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def announced(*events: Json, client: str = "0.0.53") -> list[Any]:
    """The values of the announcements; the run ends plainly behind them."""
    *rest, end = made(client, STARTED, *events)
    assert end == FINISHED
    return [event["value"] for event in rest if event["type"] == "CUSTOM"]


def test_each_interrupt_is_announced_and_the_outcome_goes() -> None:
    address = {"id": "i", "others": [{"id": "j", "expiresAt": OTHER["expiresAt"]}]}
    own = {"id": "j", "expiresAt": OTHER["expiresAt"], "others": [{"id": "i"}]}
    assert announced(paused(ASKED, OTHER)) == [ASKED | {"aguiInterrupt": address}, OTHER | {"aguiInterrupt": own}]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"question": "Which?"}, '{"question":"Which?","aguiInterrupt":{"id":"i"}}'),
        ("Which?", "Which?"),
        (["a", 1.0], '["a",1.0]'),
        (False, "false"),
    ],
)
def test_the_value_of_ag_ui_langgraph_is_what_the_graph_has_raised(raw: Any, value: str) -> None:
    assert announced(paused(raised("i", raw))) == [value]


def test_many_interrupts_do_not_name_each_other() -> None:
    many = [{"id": f"i{number}", "reason": "r"} for number in range(18)]
    assert announced(paused(*many)) == [each | {"aguiInterrupt": {"id": each["id"]}} for each in many]


@pytest.mark.parametrize(
    ("interrupt", "value"),
    [
        (raised("i", {"question": "Which?"}), '{"question": "Which?"}'),
        (raised("i", "5"), "5"),
        (ASKED, {"type": "mastra_suspend", "toolCallId": "c"}),
        (ASKED, json.dumps({"toolCallId": "c"})),
        (ASKED, {"aguiInterrupt": {"id": "i"}}),
        (ASKED, "anything else"),
        (ASKED, None),
    ],
)
def test_what_the_agent_has_announced_is_not_announced_again(interrupt: Json, value: Any) -> None:
    assert announced(custom(value), paused(interrupt)) == [value]


def test_the_one_that_the_agent_has_not_announced_is() -> None:
    second = {"toolCallId": "c"}
    assert announced(custom(second), paused(OTHER, ASKED))[1]["id"] == "j"


def test_an_announcement_of_an_earlier_run_counts_for_that() -> None:
    events = [STARTED, custom("a"), FINISHED, STARTED, paused(ASKED)]
    values = [event["value"] for event in made("0.0.53", *events) if event["type"] == "CUSTOM"]
    assert values == ["a", ASKED | {"aguiInterrupt": {"id": "i"}}]


def test_other_customs_announce_nothing() -> None:
    other = {"type": "CUSTOM", "name": "progress", "value": ASKED}
    assert announced(other, paused(ASKED)) == [ASKED, ASKED | {"aguiInterrupt": {"id": "i"}}]


@pytest.mark.parametrize(
    "outcome",
    [
        "interrupt",
        {"type": "success"},
        {"type": "interrupt"},
        {"type": "interrupt", "interrupts": []},
        {"type": "interrupt", "interrupts": [ASKED, 5]},
        {"type": "interrupt", "interrupts": [{"id": 5}]},
    ],
)
def test_an_outcome_that_asks_nothing_stays(outcome: Any) -> None:
    events = [STARTED, {**FINISHED, "outcome": outcome}]
    assert made("0.0.53", *events) == events


def test_a_cancelled_run_reads_as_success(caplog: pytest.LogCaptureFixture) -> None:
    events = [STARTED, {**FINISHED, "outcome": {"type": "cancelled"}}]
    assert made("0.0.53", *events) == events
    assert losses(caplog, events, "0.0.53") == ["interrupts"]
    assert losses(caplog, [STARTED, paused(ASKED)], "0.0.53") == []


@pytest.mark.parametrize("value", [[[]] * 3, {"a": [1.0, "é", None]}, "[", "null", '"\ud800"', {"toolCallId": 5}])
def test_a_value_of_any_form_is_read(value: Any) -> None:
    assert len(announced(custom(value), paused(ASKED))) == 1


@pytest.mark.parametrize("address", [5, {"id": 5}, {}, None])
def test_an_address_that_is_none_names_nothing(address: Any) -> None:
    assert announced(custom({"aguiInterrupt": address}), paused(ASKED)) == [{"aguiInterrupt": address}]


def test_releases_that_ignore_the_outcome_read_the_announcement(client: StartClient) -> None:
    events = [STARTED, {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}, paused(ASKED)]
    assert Minimal(client, "interrupts").proves(*events, run=False).state == {"a": 1}


@pytest.mark.parametrize("client", [None, "0.0.53", "0.0.58", "1.0.0"])
async def test_custom_serves_every_release(client: str | None) -> None:
    plan = make_plan(client and ClientVersion.parse(client), interrupts="custom")  # type: ignore[arg-type]  # "" is not there
    assert plan.interrupts == "custom"
    events: Any = [STARTED, paused(ASKED)]
    for filter in plan.composition.filters:
        events = await run_filter(filter, events)
    assert [event["type"] for event in events] == ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"]
    assert "outcome" not in events[-1]
