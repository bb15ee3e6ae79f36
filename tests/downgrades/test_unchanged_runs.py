import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, made

FAILED: Json = {"type": "RUN_ERROR", "message": "boom"}
NOTHING: Json = {"type": "STATE_DELTA", "delta": []}
CUSTOM: Json = {"type": "CUSTOM", "name": "x", "value": 1}


@pytest.mark.parametrize("last", [FINISHED, FAILED])
def test_a_run_that_changes_nothing_is_read(client: StartClient, last: Json) -> None:
    minimal = Minimal(client, "unchanged-runs", messages=[{"id": "u", "role": "user", "content": "hi"}], state={"a": 1})
    end = minimal.proves(STARTED, CUSTOM, last, run=False)
    assert (end.messages, end.state) == (minimal.messages, {"a": 1})
    assert made("0.0.30", STARTED, CUSTOM, last) == [STARTED, CUSTOM, NOTHING, last]


def test_a_failure_before_any_run_is_read(client: StartClient) -> None:
    assert Minimal(client, "unchanged-runs").proves(FAILED, run=False).messages == []
    assert made("0.0.30", FAILED) == [{"type": "RUN_STARTED", "threadId": "", "runId": ""}, NOTHING, FAILED]


def test_a_run_that_breaks_off_is_read(client: StartClient) -> None:
    assert Minimal(client, "unchanged-runs").proves(STARTED, CUSTOM, run=False).state == {}


def test_a_patch_that_fails_changes_nothing(client: StartClient) -> None:
    fails: Json = {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/no/such"}]}
    assert Minimal(client, "unchanged-runs", state={"a": 1}).proves(fails).state == {"a": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
        {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}},
        {"type": "MESSAGES_SNAPSHOT", "messages": []},
        NOTHING,
    ],
)
def test_a_run_that_changes_something_stays(change: Json) -> None:
    end = [{"type": change["type"].replace("START", "END"), "messageId": "m", "toolCallId": "c"}]
    events = [STARTED, change, *(end if change["type"].endswith("START") else []), FINISHED]
    assert made("0.0.30", *events) == events


def test_a_body_without_any_event_gets_none() -> None:
    assert made("0.0.30") == []
