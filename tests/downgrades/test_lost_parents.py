import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, made

REASONING: list[Json] = [
    {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
    {"type": "REASONING_MESSAGE_END", "messageId": "g"},
]
ACTIVITY: list[Json] = [{"type": "ACTIVITY_SNAPSHOT", "messageId": "g", "activityType": "PLAN", "content": {}}]
RESULT: list[Json] = [{"type": "TOOL_CALL_RESULT", "messageId": "g", "toolCallId": "b", "content": "ok"}]
TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "g", "role": "assistant"},
    {"type": "TEXT_MESSAGE_END", "messageId": "g"},
]
CALL: list[Json] = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "g"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]


@pytest.mark.parametrize(
    ("release", "parent"),
    [("0.0.44", REASONING), ("0.0.37", REASONING), ("0.0.40", ACTIVITY), ("0.0.27", ACTIVITY), ("0.0.28", RESULT)],
)
def test_a_call_whose_parent_is_lost_gets_a_message_of_its_own(
    client: StartClient, release: str, parent: list[Json]
) -> None:
    row = Minimal(client, "lost-parents")
    end = row.original(release, *made(release, STARTED, *parent, *CALL, FINISHED), run=False)
    assert end.messages == row.original("1.0.0", *parent, *CALL).messages[1:]
    assert [message["id"] for message in row.original(release, *CALL).messages] == ["g"]


@pytest.mark.parametrize("release", ["0.0.27", "0.0.40", "0.0.44"])
def test_a_parent_that_the_client_gets_stays(release: str) -> None:
    assert CALL[0] in made(release, *TEXT, *CALL)
