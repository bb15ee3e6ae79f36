import pytest

from agui_middleware import ClientVersion, Event
from agui_middleware.downgrades.client_messages import ClientMessages
from tests.downgrades.minimal import Json


def client_messages(release: str | None, *events: Json) -> ClientMessages:
    told = ClientMessages(None if release is None else ClientVersion.parse(release))
    for event in events:
        told.take(Event(**event))
    return told


def text(id: object, **members: object) -> Json:
    return {"type": "TEXT_MESSAGE_START", "messageId": id, **members}


def call(id: str, parent: str | None = None) -> Json:
    return {"type": "TOOL_CALL_START", "toolCallId": id, "parentMessageId": parent}


def snapshot(*messages: object) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def message(id: object, role: object = "assistant") -> Json:
    return {"id": id, "role": role}


ACTIVITY: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a"}
REASONING: Json = {"type": "REASONING_MESSAGE_START", "messageId": "g"}


def test_messages_are_kept_in_the_client_s_order() -> None:
    result: Json = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c"}
    told = client_messages("0.0.51", text("m"), call("c"), call("d", "p"), result, REASONING, ACTIVITY)
    expected = {"m": "assistant", "c": "assistant", "p": "assistant", "t": "tool", "g": "reasoning", "a": "activity"}
    assert list(told.roles.items()) == list(expected.items())
    assert told.last == "a"


@pytest.mark.parametrize(("release", "known"), [("0.0.45", "mga"), ("0.0.44", "ma"), ("0.0.40", "m")])
def test_a_release_does_not_hold_what_it_does_not_know(release: str, known: str) -> None:
    assert set(client_messages(release, text("m"), REASONING, ACTIVITY).roles) == set(known)


@pytest.mark.parametrize(("release", "last"), [("0.0.44", "n"), ("0.0.43", None), ("0.0.36", None)])
def test_the_second_message_of_a_continued_text_may_be_the_last(release: str, last: str | None) -> None:
    assert client_messages(release, text("m"), text("n"), text("m")).last == last
    assert client_messages(release, text("m"), text("m")).last == "m"


@pytest.mark.parametrize(("release", "last"), [("0.0.37", "c"), ("0.0.36", None)])
def test_a_call_that_is_continued_may_wait_for_its_first_piece(release: str, last: str | None) -> None:
    assert client_messages(release, call("c"), text("m"), call("c")).last == last


def test_an_activity_may_take_over_a_message_that_is_there() -> None:
    assert client_messages(None, text("a"), ACTIVITY).roles == {"a": "activity"}
    assert client_messages(None, text("a"), {**ACTIVITY, "replace": False}).roles == {"a": "assistant"}


def test_an_echo_adds_what_is_unknown() -> None:
    echo: Json = {"type": "RUN_STARTED", "input": {"messages": [message("m", "user"), message("n", "user")]}}
    told = client_messages("0.0.51", text("m"), echo)
    assert (told.roles, told.last) == ({"m": "assistant", "n": "user"}, "n")


@pytest.mark.parametrize(
    ("release", "roles", "last"),
    [
        (None, {"m": "user", "a": "activity", "g": "reasoning", "n": "assistant"}, None),
        ("0.0.51", {"m": "user", "a": "activity", "g": "reasoning", "n": "assistant"}, None),
        ("0.0.49", {"m": "user", "a": "activity", "n": "assistant"}, None),
        ("0.0.45", {"n": "assistant", "m": "user"}, "m"),
    ],
)
def test_a_snapshot_merges_or_takes_the_place_of_all(
    release: str | None, roles: dict[str, str], last: str | None
) -> None:
    told = client_messages(
        release, text("m"), text("x"), ACTIVITY, REASONING, snapshot(message("n"), message("m", "user"))
    )
    assert (list(told.roles.items()), told.last) == (list(roles.items()), last)


@pytest.mark.parametrize(("release", "kept"), [(None, "b"), ("0.0.58", "b"), ("0.0.57", "ab")])
def test_a_snapshot_with_activities_has_them_all(release: str | None, kept: str) -> None:
    assert set(client_messages(release, ACTIVITY, snapshot(message("b", "activity"))).roles) == set(kept)


def test_the_last_message_is_certain_where_a_snapshot_brings_nothing_new_or_nothing_known() -> None:
    assert client_messages("0.0.51", text("m"), text("n"), snapshot(message("n"), message("m"))).last == "n"
    assert client_messages("0.0.51", text("m"), snapshot(message("n"), message("o"))).last == "o"
    assert client_messages("0.0.51", text("m"), snapshot()).last is None


def test_malformed_members_are_passed_over() -> None:
    malformed = [text(None), text([]), text("m", role=[]), snapshot(message(1), message("m", None), "x")]
    assert client_messages("0.0.51", *malformed[:3]).roles == {"m": "assistant"}
    assert client_messages("0.0.36", text("m", role=[])).roles == {}
    assert client_messages("0.0.51", *malformed, {"type": "MESSAGES_SNAPSHOT"}).roles == {}
