import pytest

from agui_middleware import rewrite
from tests.downgrades.cases import stream
from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made
from tests.work import work_of

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


def test_the_work_of_nested_steps_is_linear() -> None:
    """Each end of a step is found at once, however many are open."""

    def work(count: int) -> int:
        steps = [opens(f"s{number}") for number in range(count)] + [
            closes(f"s{number}") for number in reversed(range(count))
        ]
        body = stream(STARTED, STATE, *steps, FINISHED)
        return work_of(lambda: rewrite(body, client="0.0.27"))

    assert work(2000) < 2.5 * work(1000)


def test_steps_without_a_name_inside_a_step_stay() -> None:
    """Every release rejects them."""
    malformed: list[Json] = [{"type": "STEP_STARTED", "stepName": []}, {"type": "STEP_FINISHED", "stepName": {}}]
    events = [STARTED, STATE, opens("a"), *malformed, closes("a"), FINISHED]
    assert made("0.0.30", *events) == events
