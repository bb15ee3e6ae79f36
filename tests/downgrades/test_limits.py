"""The rows that only say what a release does with a shape: nothing is rewritten."""

from tests.downgrades.minimal import Json, Minimal, StartClient

TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "metadata": {"k": 1}},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]
CALL: list[Json] = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]


def test_metadata_is_kept_from_0_0_59_on(client: StartClient) -> None:
    end = Minimal(client, "metadata").proves(*TEXT)
    assert end.messages == [{"id": "m", "role": "assistant", "content": ""}]


def test_a_result_moves_to_its_call_from_0_0_55_on(client: StartClient) -> None:
    result: Json = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "ok"}
    minimal = Minimal(client, "result-order")
    ends = [minimal.original(release, *CALL, *TEXT, result) for release in ("0.0.54", "0.0.55")]
    assert [[message["id"] for message in end.messages] for end in ends] == [["c", "m", "t"], ["c", "t", "m"]]


def test_attribution_is_kept_from_0_0_59_on(client: StartClient) -> None:
    tagged = [{**event, "subagentRunId": "s"} for event in CALL]
    minimal = Minimal(client, "subagents")
    assert minimal.reads("0.0.58", minimal.rewritten("0.0.58", *tagged)).messages[0].keys() == {
        "id",
        "role",
        "toolCalls",
    }
    assert minimal.original("0.0.59", *tagged).messages[0]["subagentRunId"] == "s"
