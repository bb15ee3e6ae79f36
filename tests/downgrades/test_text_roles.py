import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

END: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
CONTENT: Json = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}
STATE: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


def start(**members: object) -> Json:
    return {"type": "TEXT_MESSAGE_START", "messageId": "m", **members}


def test_an_absent_role_is_the_assistant_s(client: StartClient) -> None:
    end = Minimal(client, "text-roles").proves(start(), CONTENT, END)
    assert end.messages == [{"id": "m", "role": "assistant", "content": "a"}]


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_a_text_of_another_role_is_left_out(client: StartClient, caplog: pytest.LogCaptureFixture, role: str) -> None:
    events = [STATE, start(role=role), CONTENT, END]
    assert Minimal(client, "text-roles").proves(*events).messages == []
    assert made("0.0.36", STARTED, *events, FINISHED) == [STARTED, STATE, FINISHED]
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.36") == ["texts that are not the assistant's"]


def test_a_message_keeps_the_role_that_it_had_first(client: StartClient) -> None:
    events = [start(role="assistant"), CONTENT, END, start(role="user"), CONTENT, END]
    minimal = Minimal(client, "text-roles")
    first, second = minimal.reads("0.0.36", minimal.rewritten("0.0.36", *events)).messages
    assert first["role"] == second["role"] == "assistant"
    again = [start(role="user"), CONTENT, END, start(role="assistant"), CONTENT, END, STATE]
    assert made("0.0.36", *again) == [STATE]


def test_a_call_of_a_text_that_is_left_out_gets_its_own_message(client: StartClient) -> None:
    call: Json = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"}
    minimal = Minimal(client, "text-roles")
    body = minimal.rewritten("0.0.36", start(role="user"), END, call, {"type": "TOOL_CALL_END", "toolCallId": "c"})
    [message] = minimal.reads("0.0.36", body).messages
    assert (message["id"], message["role"]) == ("c", "assistant")


@pytest.mark.parametrize("role", ["tool", None, 1])
def test_a_role_that_nobody_reads_is_left_to_the_client(role: object) -> None:
    assert made("0.0.36", STARTED, start(role=role))[-1] == start(role=role)
