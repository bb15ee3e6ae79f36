import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made


def text(id: str, role: str = "assistant") -> list[Json]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": id, "role": role},
        {"type": "TEXT_MESSAGE_END", "messageId": id},
    ]


def call(id: str, parent: str | None = None) -> list[Json]:
    members = {} if parent is None else {"parentMessageId": parent}
    start: Json = {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "look", **members}
    return [start, {"type": "TOOL_CALL_END", "toolCallId": id}]


def held(end: list[Json]) -> dict[str, list[str]]:
    """The calls of each message."""
    return {message["id"]: [call["id"] for call in message.get("toolCalls", ())] for message in end}


def test_a_call_of_an_older_message_gets_its_own(client: StartClient, caplog: pytest.LogCaptureFixture) -> None:
    events = [*text("m"), *text("n"), *call("c", "m")]
    end = Minimal(client, "call-parents").proves(*events)
    assert held(end.messages) == {"m": [], "n": [], "c": ["c"]}
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.51") == ["the message of a tool call"]


def restated(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


HOLDER: Json = {
    "id": "m",
    "role": "assistant",
    "content": "",
    "toolCalls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}],
}
OTHER: Json = {"id": "n", "role": "assistant", "content": ""}
ANSWER: Json = {"id": "c", "role": "tool", "toolCallId": "c", "content": "ok"}
ANSWERED = [
    *[*text("m"), *text("n"), *call("c", "m")],
    {"type": "TOOL_CALL_RESULT", "messageId": "c", "toolCallId": "c", "content": "ok"},
]


def test_a_result_under_the_id_of_its_call_is_not_doubled_by_a_snapshot(client: StartClient) -> None:
    """The message that the call got has that id too."""
    events = [*ANSWERED, restated(HOLDER, OTHER, ANSWER)]
    end = Minimal(client, "call-parents").proves(*events, alike=False)
    assert end.messages == [HOLDER, OTHER, ANSWER]
    assert made("0.0.51", *events)[-2:] == [restated(HOLDER, OTHER), restated(HOLDER, OTHER, ANSWER)]


@pytest.mark.parametrize(
    ("release", "events"),
    [
        ("0.0.45", [*ANSWERED, restated(ANSWER)]),  # where a snapshot takes the place of all messages
        ("0.0.51", [*ANSWERED, restated(HOLDER)]),
        ("0.0.51", [*ANSWERED, restated(), restated(ANSWER)]),  # the first one deletes both
        ("0.0.51", [*ANSWERED[:-1], {**ANSWERED[-1], "messageId": "other"}, restated(ANSWER)]),
    ],
)
def test_nothing_comes_before_any_other_snapshot(release: str, events: list[Json]) -> None:
    snapshots = [event for event in made(release, *events) if event["type"] == "MESSAGES_SNAPSHOT"]
    assert snapshots == [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_a_call_of_another_s_message_gets_its_own(client: StartClient, role: str) -> None:
    """As it does in 1.0.0."""
    end = Minimal(client, "call-parents").proves(*text("m", role), *call("c", "m"), alike=False)
    assert held(end.messages) == {"m": [], "c": ["c"]}


@pytest.mark.parametrize(
    ("before", "parent"),
    [
        ([], "unknown"),
        (text("m"), "m"),
        ([*text("n"), *text("m")], "m"),
        (call("b", "p"), "p"),
        ([*text("m"), *call("b", "m")], "m"),
        ([{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant", "content": ""}]}], "m"),
    ],
)
def test_a_call_of_the_newest_message_stays_there(before: list[Json], parent: str) -> None:
    start = call("c", parent)[0]
    assert start in made("0.0.51", STARTED, *before, start)


@pytest.mark.parametrize(
    "between",
    [
        [{"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "b", "content": "ok"}],
        [{"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {}}],
        [{"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"}],
    ],
)
def test_whatever_is_appended_is_the_newest_message(between: list[Json]) -> None:
    assert made("0.0.51", STARTED, *text("m"), *between, call("c", "m")[0])[-1] == call("c")[0]


def test_what_a_release_does_not_have_is_not_its_newest_message() -> None:
    activity: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {}}
    assert call("c", "m")[0] in made("0.0.40", STARTED, *text("m"), activity, call("c", "m")[0])
    user = text("u", "user")
    assert call("c", "m")[0] in made("0.0.36", STARTED, *text("m"), *user, *call("c", "m"))


def test_after_a_snapshot_that_mixes_new_and_known_messages_no_message_is_surely_the_newest() -> None:
    """A message that nobody streamed may have been there from the start, or be appended."""
    messages = [{"id": id, "role": "assistant", "content": ""} for id in ("n", "m")]
    snapshot: Json = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    for parent in ("m", "n"):
        assert made("0.0.51", STARTED, *text("m"), snapshot, call("c", parent)[0])[-1] == call("c")[0]
    assert made("0.0.45", STARTED, *text("m"), snapshot, call("c", "m")[0])[-1] == call("c", "m")[0]
