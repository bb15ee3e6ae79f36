import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

TEXT: Json = {"type": "text", "text": "hi"}
USER: Json = {"id": "u", "role": "user", "content": "hi"}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def asked(*parts: Json) -> Json:
    return {"id": "u", "role": "user", "content": list(parts)}


@pytest.mark.parametrize("role", [{"role": "oracle"}, {"role": None}, {"role": 1}, {"role": ["user"]}, {}])
def test_a_message_of_an_unknown_role_is_dropped(client: StartClient, role: Json) -> None:
    end = Minimal(client, "unknown-members").proves(snapshot(USER, {"id": "x", "content": "so be it", **role}))
    assert end.messages == [USER]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "hologram", "beam": 1},
        {"type": "image", "source": {"type": "beam", "value": "1"}},
        {"type": "image", "source": {"value": "1"}},
        {"text": "a part of no type"},
        {"type": ["text"], "text": "a"},
    ],
)
def test_a_part_of_an_unknown_kind_is_dropped(client: StartClient, part: Json) -> None:
    end = Minimal(client, "unknown-members").proves(snapshot(asked(TEXT, part)), alike=False)
    assert end.messages == [asked(TEXT)]


def test_unknown_members_of_an_echo_are_dropped(client: StartClient) -> None:
    input_: Json = {"threadId": "t", "runId": "r", "tools": [], "context": []}
    echoed = [USER, {"id": "x", "role": "oracle", "content": "so be it"}]
    body = [{**STARTED, "input": {**input_, "messages": echoed}}, {"type": "STATE_SNAPSHOT", "snapshot": 1}, FINISHED]
    assert Minimal(client, "unknown-members").proves(*body, run=False, alike=False).messages == [USER]


def test_what_nobody_reads_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    events = [STARTED, snapshot({"id": "x", "role": "oracle"}, asked({"type": "hologram"})), FINISHED]
    assert losses(caplog, events, "0.0.59") == ["messages", "content parts"]


@pytest.mark.parametrize("messages", [["a"], [asked({"type": "image", "source": "beam"})], {}, None])
def test_messages_that_no_client_reads_are_left_to_it(messages: object) -> None:
    events = [STARTED, {"type": "MESSAGES_SNAPSHOT", "messages": messages}, FINISHED]
    assert made("0.0.59", *events) == events
