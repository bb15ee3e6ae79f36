import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

START: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
END: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def content(delta: str) -> Json:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}


def message(text: str) -> Json:
    return {"id": "m", "role": "assistant", "content": text}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def test_a_continued_text_stays_one(client: StartClient) -> None:
    end = Minimal(client, "reopened-texts").proves(START, content("a"), END, START, content("b"), END)
    assert end.messages == [message("ab")]


@pytest.mark.parametrize("last", [[FINISHED], [{"type": "RUN_ERROR", "message": "boom"}], []])
def test_the_end_leaves_with_the_run(last: list[Json]) -> None:
    state: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    assert made("0.0.43", STARTED, START, END, state, *last) == [STARTED, START, state, END, *last]


def test_ends_leave_in_their_order() -> None:
    texts = [(START | {"messageId": id}, END | {"messageId": id}) for id in "cab"]
    events = made("0.0.43", STARTED, *(event for text in texts for event in text), FINISHED)
    assert [event["messageId"] for event in events[1:-1]] == ["c", "a", "b"] * 2


def test_a_snapshot_that_restates_an_open_text_leaves_it_open(client: StartClient) -> None:
    events = [START, content("a"), END, snapshot(message("a")), START, content("b"), END]
    assert Minimal(client, "reopened-texts").proves(*events).messages == [message("ab")]


@pytest.mark.parametrize("ended", [True, False])
def test_a_text_that_a_snapshot_leaves_out_begins_anew(client: StartClient, ended: bool) -> None:
    first = [END, snapshot()] if ended else [snapshot(), END]
    events = [STARTED, START, content("a"), *first, START, content("b"), FINISHED]
    assert made("0.0.43", *events) == events
    assert Minimal(client, "reopened-texts").original("0.0.43", *events[:-1], run=False).messages == [message("b")]


CALL: Json = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"}
CALLED: Json = {"type": "TOOL_CALL_END", "toolCallId": "c"}


@pytest.mark.parametrize(
    "before", [[snapshot(message("a"))], [START, content("a"), END, FINISHED, STARTED], [CALL, CALLED]]
)
def test_what_a_run_did_not_open_gets_an_empty_second_message(
    client: StartClient, caplog: pytest.LogCaptureFixture, before: list[Json]
) -> None:
    """Not even then is a text shown twice, or not at all; and it is reported."""
    minimal = Minimal(client, "reopened-texts")
    first, second = minimal.reads("0.0.43", minimal.rewritten("0.0.43", *before, START, content("b"), END)).messages
    assert first["content"].endswith("b")
    assert second == message("")
    assert losses(caplog, [STARTED, *before, START, content("b"), END, FINISHED], "0.0.43") == ["a text in one piece"]


@pytest.mark.parametrize("release", ["0.0.37", "0.0.43"])
def test_a_text_behind_a_call_of_its_message_is_declared(client: StartClient, release: str) -> None:
    events = [CALL, CALLED, START, content("a"), END]
    minimal = Minimal(client, "reopened-texts")
    outcome = minimal.reads(release, minimal.rewritten(release, *events))
    assert [message["id"] for message in outcome.messages] == ["m", "m"]
    assert [message["id"] for message in minimal.original("1.0.0", *events).messages] == ["m"]


def test_no_loss_is_reported_of_a_text_that_its_run_opened(caplog: pytest.LogCaptureFixture) -> None:
    events = [STARTED, START, content("a"), END, CALL, CALLED, START, content("b"), END, FINISHED]
    assert losses(caplog, events, "0.0.43") == []


def test_a_malformed_id_is_left_to_the_client() -> None:
    ids: list[object] = [None, 1, [], {}]
    events = [{**event, "messageId": id} for id in ids for event in (START, END)]
    assert made("0.0.43", *events) == events


def test_ends_that_are_held_back_count_against_the_bound() -> None:
    """Ids may be long: here they would take twelve times the bound."""
    ids = [f"{number}" * 50_000 for number in range(10, 90)]
    texts = [(START | {"messageId": id}, END | {"messageId": id}) for id in ids]
    shown = made("0.0.40", STARTED, *(event for text in texts for event in text), FINISHED)
    assert shown[-1]["code"] == "AGUI_EVENT_TOO_LARGE"
    few = [event for text in texts[:4] for event in text]
    again = [STARTED, *few, FINISHED, STARTED, *few, FINISHED, STARTED, *few, FINISHED]
    assert made("0.0.40", *again)[-1] == FINISHED  # what has left counts no longer
