import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, made

TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]


def test_a_text_goes_without_its_empty_deltas(client: StartClient) -> None:
    end = Minimal(client, "empty-deltas").proves(*TEXT)
    assert end.messages == [{"id": "m", "role": "assistant", "content": "a"}]
    assert made("0.0.49", STARTED, *TEXT, FINISHED) == [STARTED, TEXT[0], *TEXT[2:], FINISHED]


def test_reasoning_goes_without_its_empty_deltas(client: StartClient) -> None:
    start: Json = {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"}
    content: Json = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": ""}
    end: Json = {"type": "REASONING_MESSAGE_END", "messageId": "g"}
    newest = Minimal(client, "empty-deltas").proves(start, content, end, alike=False)
    assert newest.messages == [{"id": "g", "role": "reasoning", "content": ""}]


@pytest.mark.parametrize("delta", [None, 0, []])
def test_what_is_no_empty_string_is_left_to_the_client(delta: object) -> None:
    malformed: Json = {**TEXT[1], "delta": delta}
    assert made("0.0.49", STARTED, TEXT[0], malformed)[-1] == malformed


def test_arguments_may_be_empty() -> None:
    call: Json = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"}
    args: Json = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ""}
    assert made("0.0.27", STARTED, call, args)[-1] == args


def test_a_message_of_a_call_gets_no_content_by_an_empty_delta(client: StartClient) -> None:
    call: list[Json] = [
        {"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "look"},
        {"type": "TOOL_CALL_END", "toolCallId": "m"},
    ]
    minimal = Minimal(client, "empty-deltas")
    assert minimal.original("1.0.0", *call, TEXT[0], TEXT[1], TEXT[3]).messages[0]["content"] == ""
    body = minimal.rewritten("0.0.49", *call, TEXT[0], TEXT[1], TEXT[3])
    assert "content" not in minimal.reads("0.0.49", body).messages[0]
