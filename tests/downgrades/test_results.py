import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

CALL: list[Json] = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]
RESULT: Json = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "ok"}
TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]


def roles(client: StartClient, release: str, *events: Json) -> list[str]:
    end = Minimal(client, "results").original(release, *events, run=False)
    assert end.accepted, end.error
    return [message["role"] for message in end.messages]


def test_a_result_is_dropped_where_it_is_not_known(client: StartClient, caplog: pytest.LogCaptureFixture) -> None:
    events = [STARTED, *CALL, RESULT, *TEXT, FINISHED]
    assert not Minimal(client, "results").original("0.0.28", *events, run=False).accepted
    assert made("0.0.28", *events) == [STARTED, *CALL, *TEXT, FINISHED]
    assert roles(client, "0.0.28", *made("0.0.28", *events)) == ["assistant", "assistant"]
    assert losses(caplog, events, "0.0.28") == ["tool results"]


@pytest.mark.parametrize("terminal", [FINISHED, {"type": "RUN_ERROR", "message": "no"}])
def test_a_result_that_0_0_30_does_not_tell_is_reported(
    client: StartClient, caplog: pytest.LogCaptureFixture, terminal: Json
) -> None:
    events = [STARTED, *CALL, RESULT, terminal]
    assert made("0.0.30", *events) == events
    assert roles(client, "0.0.30", *events) == ["assistant"]
    assert losses(caplog, events, "0.0.30") == ["tool results"]


def test_a_result_that_0_0_30_tells_with_what_follows_is_not(
    client: StartClient, caplog: pytest.LogCaptureFixture
) -> None:
    events = [STARTED, *CALL, RESULT, *TEXT, FINISHED]
    assert made("0.0.30", *events) == events
    assert roles(client, "0.0.30", *events) == ["assistant", "tool", "assistant"]
    assert losses(caplog, events, "0.0.30") == []


def test_results_are_read_from_0_0_34_on(client: StartClient) -> None:
    events = [STARTED, *CALL, RESULT, FINISHED]
    assert made("0.0.34", *events) == events
    assert roles(client, "0.0.34", *events) == ["assistant", "tool"]
