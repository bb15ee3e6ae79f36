from typing import Any

import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

INTERRUPT: Json = {"id": "i", "reason": "approval"}


def finished(outcome: Any) -> list[Json]:
    return [STARTED, {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}, {**FINISHED, "outcome": outcome}]


@pytest.mark.parametrize(
    "outcome", [{"type": "cancelled"}, {"type": "abandoned"}, {"type": 1}, {"type": ["success"]}, {}]
)
def test_an_outcome_that_is_not_known_goes(client: StartClient, outcome: Json) -> None:
    end = Minimal(client, "outcomes").proves(*finished(outcome), run=False)
    assert end.state == {"a": 1}
    assert made("0.0.59", *finished(outcome))[-1] == FINISHED


@pytest.mark.parametrize("member", ["pendingToolCallIds", "note"])
def test_a_member_that_is_not_known_goes(client: StartClient, member: str) -> None:
    Minimal(client, "outcomes").proves(*finished({"type": "success", member: []}), run=False)
    assert made("0.0.59", *finished({"type": "success", member: []})) == finished({"type": "success"})


def test_an_interrupt_keeps_what_it_asks(client: StartClient) -> None:
    outcome: Json = {"type": "interrupt", "interrupts": [INTERRUPT | {"note": "later"}]}
    end = Minimal(client, "outcomes").proves(*finished(outcome | {"pendingToolCallIds": ["c"]}), run=False)
    assert [interrupt["id"] for interrupt in end.interrupts] == ["i"]
    assert made("0.0.59", *finished(outcome)) == finished(outcome)


@pytest.mark.parametrize(
    "outcome", [{"type": "abandoned"}, {"type": "success", "note": 1}, {"type": "suspended", "note": 1}]
)
def test_the_outcome_of_a_subagent_is_held_to_what_0_0_59_reads(client: StartClient, outcome: Json) -> None:
    started = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"}
    ended = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": outcome}
    row = Minimal(client, "outcomes")
    assert row.proves(started, ended, alike=False) == row.original("1.0.0", started, ended)


@pytest.mark.parametrize(
    ("outcome", "reported"),
    [
        ({"type": "cancelled"}, ["outcome"]),
        ({"type": "abandoned"}, ["outcome"]),
        ({"type": "success", "note": 1}, ["outcome members"]),
        ({"type": "success", "pendingToolCallIds": ["c"]}, []),
        ({"type": "success"}, []),
    ],
)
def test_what_the_client_cannot_derive_is_reported(
    caplog: pytest.LogCaptureFixture, outcome: Json, reported: list[str]
) -> None:
    assert losses(caplog, finished(outcome), "0.0.59") == reported


@pytest.mark.parametrize("outcome", ["success", [], 1, {"type": "interrupt", "interrupts": []}])
def test_an_outcome_that_no_client_reads_is_left_to_it(outcome: Any) -> None:
    assert made("0.0.59", *finished(outcome)) == finished(outcome)
