from typing import Any

import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

USER: Json = {"id": "u", "role": "user", "content": "hi"}
CALL: Json = {"id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}
ASKED: Json = {"id": "a", "role": "assistant", "toolCalls": [CALL]}
ACTIVITY: Json = {"id": "p", "role": "activity", "activityType": "PLAN", "content": {}}


def value(entity: str = "u", **members: Any) -> Json:
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": "message",
        "entityId": entity,
        "encryptedValue": "x",
        **members,
    }


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def holding(**members: Any) -> list[Json]:
    """A value on the message and on the call of a snapshot, and in an event."""
    call = {**CALL, "encryptedValue": "x", **members}
    return [
        STARTED,
        snapshot({**ASKED, "toolCalls": [call], "encryptedValue": "x", **members}),
        value(**members),
        FINISHED,
    ]


def test_an_encrypted_value_is_dropped(client: StartClient) -> None:
    assert Minimal(client, "encrypted-values").proves(snapshot(USER), value()).messages == [USER]


@pytest.mark.parametrize(
    "held",
    [
        value(),
        snapshot({**USER, "encryptedValue": "x"}),
        snapshot({**ASKED, "toolCalls": [{**CALL, "encryptedValue": "x"}]}),
    ],
)
def test_a_value_that_is_not_kept_is_reported(caplog: pytest.LogCaptureFixture, held: Json) -> None:
    assert losses(caplog, [STARTED, held, FINISHED], "0.0.44") == ["encrypted values"]
    assert losses(caplog, [STARTED, held, FINISHED], "0.0.45") == []


@pytest.mark.parametrize("messages", [["x"], ["encryptedValue"], [ASKED | {"toolCalls": "x"}], [ASKED], None])
def test_messages_without_a_value_are_not(caplog: pytest.LogCaptureFixture, messages: Any) -> None:
    assert losses(caplog, [STARTED, {"type": "MESSAGES_SNAPSHOT", "messages": messages}], "0.0.44") == []


def test_the_type_of_a_value_is_taken_off_for_1_0(client: StartClient, caplog: pytest.LogCaptureFixture) -> None:
    """1.0.0 takes it off too, and warns its user of what it cannot do anything about."""
    typed = holding(encryptedValueType="vendor/1")
    assert made("1.0.0", *typed) == made("0.0.59", *typed) == holding()
    assert made("1.1.0", *typed) == typed
    assert losses(caplog, typed, "1.0.0") == ["encrypted value types"]
    assert losses(caplog, holding(), "1.0.0") == []
    read = Minimal(client, "encrypted-values").original("1.0.0", *typed, run=False)
    assert read == Minimal(client, "encrypted-values").original("1.0.0", *holding(), run=False)


def test_the_type_of_a_value_is_taken_off_an_echo() -> None:
    def echo(*messages: Json) -> Json:
        return {**STARTED, "input": {"threadId": "t", "runId": "r", "messages": list(messages)}}

    assert made("1.0.0", echo({**USER, "encryptedValue": "x", "encryptedValueType": "y"})) == [
        echo({**USER, "encryptedValue": "x"})
    ]


def test_an_activity_has_no_such_type() -> None:
    events = [snapshot({**ACTIVITY, "encryptedValueType": "x"}, {**ACTIVITY, "content": {"encryptedValueType": "x"}})]
    assert made("1.0.0", *events) == events
