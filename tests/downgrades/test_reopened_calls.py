import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

START: Json = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"}
END: Json = {"type": "TOOL_CALL_END", "toolCallId": "c"}
RESULT: Json = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "ok"}
FAILED: Json = {"type": "RUN_ERROR", "message": "boom"}


def args(delta: str) -> Json:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": delta}


def holder(arguments: str) -> Json:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"id": "c", "role": "assistant", "toolCalls": [call]}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def test_a_continued_call_stays_one(client: StartClient) -> None:
    end = Minimal(client, "reopened-calls").proves(START, args("{"), END, START, args("}"), END)
    assert end.messages == [holder("{}")]


def test_the_end_leaves_with_the_result() -> None:
    assert made("0.0.57", STARTED, START, END, RESULT, FINISHED) == [STARTED, START, END, RESULT, FINISHED]
    custom: Json = {"type": "CUSTOM", "name": "x", "value": 1}
    assert made("0.0.57", STARTED, START, END, custom, RESULT)[2:] == [custom, END, RESULT]


@pytest.mark.parametrize("last", [[FINISHED], [FAILED], []])
def test_the_end_leaves_with_the_run_at_the_latest(last: list[Json]) -> None:
    other: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    assert made("0.0.57", STARTED, START, END, other, *last) == [STARTED, START, other, END, *last]


@pytest.mark.parametrize("finish", [[RESULT], [FINISHED, STARTED]])
def test_nothing_is_added_to_a_finished_call(
    client: StartClient, caplog: pytest.LogCaptureFixture, finish: list[Json]
) -> None:
    events = [STARTED, START, args("{}"), END, *finish, START, args("!"), END, FINISHED]
    assert made("0.0.57", *events) == [STARTED, START, args("{}"), END, *finish, FINISHED]
    assert losses(caplog, events, "0.0.57") == ["what is added to a finished tool call"]
    assert Minimal(client, "reopened-calls").proves(*events, run=False).messages[0] == holder("{}")


def test_nothing_is_added_to_a_call_that_only_a_snapshot_brought(client: StartClient) -> None:
    events = [snapshot(holder("{}")), START, args("!"), END]
    assert Minimal(client, "reopened-calls").proves(*events).messages == [holder("{}")]
    assert made("0.0.57", *events) == events[:1]


def test_an_event_of_the_run_that_names_an_open_call_does_not_end_it(client: StartClient) -> None:
    told = {**snapshot(holder("{")), "toolCallId": "c"}
    end = Minimal(client, "reopened-calls").proves(START, args("{"), told, END, START, args("}"), END)
    assert end.messages == [holder("{}")]


def test_a_call_that_an_echo_brought_is_finished() -> None:
    echo: Json = {**STARTED, "input": {"threadId": "t", "runId": "r", "tools": [], "context": []}}
    echo["input"]["messages"] = [holder("{}")]
    assert made("0.0.57", echo, START, args("!"), END, FINISHED) == [echo, FINISHED]


def test_a_snapshot_that_restates_an_open_call_leaves_it_open(client: StartClient) -> None:
    events = [START, args("{"), END, snapshot(holder("{")), START, args("}"), END]
    assert Minimal(client, "reopened-calls").proves(*events).messages == [holder("{}")]


@pytest.mark.parametrize("ended", [True, False])
def test_a_call_that_a_snapshot_leaves_out_begins_anew(client: StartClient, ended: bool) -> None:
    first = [END, snapshot()] if ended else [snapshot(), END]
    events = [STARTED, START, args("{"), *first, START, args("}"), END, FINISHED]
    assert made("0.0.57", *events) == events
    assert Minimal(client, "reopened-calls").original("0.0.57", *events, run=False).messages == [holder("}")]


def test_a_malformed_id_is_left_to_the_client() -> None:
    ids: list[object] = [None, 1, [], {}]
    events = [{**event, "toolCallId": id} for id in ids for event in (START, END, RESULT)]
    assert made("0.0.57", *events) == events


@pytest.mark.parametrize("malformed", ["x", {"type": "function"}, {"id": 1}, {"id": None}, {"id": []}])
def test_a_call_without_an_id_does_not_hide_the_one_behind_it(malformed: object) -> None:
    message = holder("{}")
    message["toolCalls"].insert(0, malformed)
    events = [STARTED, snapshot(message), START, args("!"), END, FINISHED]
    assert made("0.0.57", *events) == [STARTED, snapshot(message), FINISHED]


def test_ends_that_are_held_back_count_against_the_bound() -> None:
    ids = [f"{number}" * 50_000 for number in range(10, 90)]
    calls = [(START | {"toolCallId": id}, END | {"toolCallId": id}) for id in ids]
    shown = made("0.0.57", STARTED, *(event for call in calls for event in call), FINISHED)
    assert shown[-1]["code"] == "AGUI_EVENT_TOO_LARGE"
    few = [event for call in calls[:4] for event in call]
    again = [
        STARTED,
        *few,
        FINISHED,
        *[STARTED, *few, FINISHED, STARTED, *few, {"type": "RUN_ERROR", "message": "no"}] * 3,
    ]
    assert made("0.0.57", *again)[-1]["message"] == "no"  # what has left counts no longer


def test_a_failed_run_may_leave_a_call_open_that_was_finished_before(client: StartClient) -> None:
    events = [STARTED, START, args("{}"), END, RESULT, START, args("!"), {"type": "RUN_ERROR", "message": "no"}]
    shown = made("0.0.57", *events)
    assert shown == [*events[:5], events[-1]]
    assert Minimal(client, "reopened-calls").original("0.0.57", *shown, run=False).accepted
