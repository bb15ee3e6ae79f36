import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

STATE: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


def opens(name: str) -> Json:
    return {"type": "STEP_STARTED", "stepName": name}


def closes(name: str) -> Json:
    return {"type": "STEP_FINISHED", "stepName": name}


@pytest.mark.parametrize("order", ["baBA", "abBA"])
def test_one_step_is_open_at_a_time(client: StartClient, caplog: pytest.LogCaptureFixture, order: str) -> None:
    """Nested, and overlapping."""
    steps = [opens(name) if name.islower() else closes(name.lower()) for name in order]
    outer = order[0]
    end = Minimal(client, "nested-steps").proves(STATE, *steps)
    assert end.state == {"a": 1}
    assert made("0.0.30", STARTED, STATE, *steps, FINISHED) == [STARTED, STATE, opens(outer), closes(outer), FINISHED]
    assert losses(caplog, [STARTED, STATE, *steps, FINISHED], "0.0.30") == ["steps inside steps"]


def test_steps_one_after_another_stay() -> None:
    events = [STARTED, STATE, opens("a"), closes("a"), opens("b"), closes("b"), opens("a"), closes("a"), FINISHED]
    assert made("0.0.30", *events) == events


def test_the_end_of_a_step_that_never_began_is_left_to_the_client() -> None:
    assert closes("x") in made("0.0.30", STARTED, STATE, opens("a"), closes("x"), closes("a"), FINISHED)
