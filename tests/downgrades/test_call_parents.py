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
    assert held(end.messages) == {"m": [], "n": [], "c-message": ["c"]}
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.51") == ["the message of a tool call"]


def test_a_result_under_the_id_of_its_call_is_the_only_message_of_that_id(client: StartClient) -> None:
    """As LangGraph and .NET servers send it. The call's own message has another id."""
    result: Json = {"type": "TOOL_CALL_RESULT", "messageId": "c2", "toolCallId": "c2", "content": "ok"}
    events = [*call("c1", "p"), *text("m"), *call("c2", "p"), result]
    row = Minimal(client, "call-parents")
    for release in row.needing:
        shown = row.rewritten(release, *events)
        end = row.reads(release, shown).messages
        results: dict[str, list[str]] = {} if release in ("0.0.27", "0.0.28", "0.0.30") else {"c2": []}
        assert held(end) == {"p": ["c1"], "m": [], "c2-message": ["c2"], **results}
        assert len(end) == 3 + len(results)


@pytest.mark.parametrize("release", ["0.0.37", "0.0.45", "0.0.46", "0.0.51"])
def test_a_snapshot_takes_the_place_of_the_message_that_a_call_was_given(client: StartClient, release: str) -> None:
    function = {"name": "look", "arguments": ""}
    holder: Json = {
        "id": "m",
        "role": "assistant",
        "content": "",
        "toolCalls": [{"id": "c", "type": "function", "function": function}],
    }
    messages: list[Json] = [
        holder,
        {"id": "n", "role": "assistant", "content": ""},
        {"id": "c", "role": "tool", "toolCallId": "c", "content": "ok"},
    ]
    result: Json = {"type": "TOOL_CALL_RESULT", "messageId": "c", "toolCallId": "c", "content": "ok"}
    events = [*text("m"), *text("n"), *call("c", "m"), result, {"type": "MESSAGES_SNAPSHOT", "messages": messages}]
    row = Minimal(client, "call-parents")
    end = row.reads(release, row.rewritten(release, *events)).messages
    assert sorted(end, key=lambda message: str(message["id"])) == sorted(messages, key=lambda m: str(m["id"]))


def test_malformed_parents_and_ids_are_left_to_the_client() -> None:
    malformed: list[Json] = [{**call("c")[0], "parentMessageId": 1}, {**call("c", "m")[0], "toolCallId": 1}]
    shown = made("0.0.51", STARTED, *text("m"), *text("n"), *malformed)
    assert shown[-2] == malformed[0]
    assert shown[-1]["toolCallId"] == 1


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
    assert made("0.0.51", STARTED, *text("m"), *between, call("c", "m")[0])[-1] == call("c", "c-message")[0]


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
        assert made("0.0.51", STARTED, *text("m"), snapshot, call("c", parent)[0])[-1] == call("c", "c-message")[0]
    assert made("0.0.45", STARTED, *text("m"), snapshot, call("c", "m")[0])[-1] == call("c", "m")[0]
