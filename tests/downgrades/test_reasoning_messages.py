import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses

USER: Json = {"id": "u", "role": "user", "content": "hi"}
REASONING: Json = {"id": "g", "role": "reasoning", "content": "hm", "encryptedValue": "x"}
STATE: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def test_reasoning_is_dropped_from_a_snapshot(client: StartClient) -> None:
    assert Minimal(client, "reasoning-messages").proves(snapshot(USER, REASONING)).messages == [USER]


def test_reasoning_is_dropped_from_an_echo(client: StartClient) -> None:
    lists: Json = {"tools": [], "context": []}
    started = {**STARTED, "input": {"threadId": "t", "runId": "r", **lists, "messages": [USER, REASONING]}}
    end = Minimal(client, "reasoning-messages").proves(started, STATE, FINISHED, run=False, alike=False)
    assert end.messages == [USER]


def test_reasoning_in_the_conversation_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    events = [STARTED, snapshot(USER, REASONING), FINISHED]
    assert losses(caplog, events, "0.0.44") == ["reasoning messages"]
    assert losses(caplog, [STARTED, snapshot(USER), FINISHED], "0.0.44") == []
