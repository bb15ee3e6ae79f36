import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, made


@pytest.mark.parametrize("type", ["TOOL_CALL_START", "TOOL_CALL_CHUNK"])
def test_a_null_parent_is_none(client: StartClient, type: str) -> None:
    start: Json = {"type": type, "toolCallId": "c", "toolCallName": "look", "parentMessageId": None}
    end: list[Json] = [{"type": "TOOL_CALL_END", "toolCallId": "c"}] if type == "TOOL_CALL_START" else []
    minimal = Minimal(client, "null-parents")
    if type == "TOOL_CALL_START":
        assert minimal.proves(start, *end).messages[0]["id"] == "c"
    assert minimal.reads("0.0.57", minimal.rewritten("0.0.57", start, *end)).messages[0]["id"] == "c"
    assert made("0.0.57", STARTED, start, *end, FINISHED)[1].keys() == {"type", "toolCallId", "toolCallName"}


def test_a_chunk_may_repeat_that_it_has_no_parent(client: StartClient) -> None:
    chunks: list[Json] = [{"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "delta": "{"}]
    chunks.append({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "parentMessageId": None, "delta": "}"})
    minimal = Minimal(client, "null-parents")
    assert minimal.original("1.0.0", *chunks).accepted
    [message] = minimal.reads("0.0.57", minimal.rewritten("0.0.57", *chunks)).messages
    assert message["toolCalls"][0]["function"]["arguments"] == "{}"
