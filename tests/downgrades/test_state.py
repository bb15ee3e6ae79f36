from typing import Any

import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]


def snapshot(state: Any) -> Json:
    return {"type": "STATE_SNAPSHOT", "snapshot": state}


def delta(*operations: Any) -> Json:
    return {"type": "STATE_DELTA", "delta": list(operations)}


def add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


@pytest.mark.parametrize("state", [None, False, 0, 0.0, ""])
def test_a_state_that_the_client_takes_for_none_empties_it(client: StartClient, state: Any) -> None:
    assert Minimal(client, "empty-state").proves(snapshot({"a": 1}), snapshot(state)).state == {}


def test_patches_apply_to_what_the_snapshot_said(client: StartClient) -> None:
    """The one below fails on null, and would not fail on an empty object."""
    row = Minimal(client, "empty-state")
    assert row.proves(snapshot({"a": 1}), snapshot(None), delta(add("/b", 2))).state == {}
    whole = [snapshot({"a": 1}), snapshot(None), delta(add("", {"b": 2}))]
    assert row.reads("0.0.59", row.rewritten("0.0.59", *whole)).state == {"b": 2}


@pytest.mark.parametrize("states", [[None], [None, 0], [{}, None]])
def test_an_empty_state_is_sent_once(states: list[Any]) -> None:
    events = [snapshot(state) for state in states]
    assert made("0.0.59", *events) == [snapshot({}), *(event for event in events if event["snapshot"] != {})]
    assert made("0.0.59", *made("0.0.59", *events)) == made("0.0.59", *events)


@pytest.mark.parametrize("between", [[snapshot({"a": 1})], [delta(add("/a", 1))]])
def test_a_state_that_was_filled_again_is_emptied_again(between: list[Json]) -> None:
    events = [snapshot(None), *between, snapshot(None)]
    assert made("0.0.59", *events) == [snapshot({}), snapshot(None), *between, snapshot({}), snapshot(None)]


@pytest.mark.parametrize("state", [[], {}, {"a": 0}, "0", [0] * 20, -1, True])
def test_other_states_stay(state: Any) -> None:
    assert made("0.0.59", snapshot(state), {"type": "STATE_SNAPSHOT"}) == [snapshot(state), {"type": "STATE_SNAPSHOT"}]


@pytest.mark.parametrize("unknown", [{"op": "increment", "path": "/a"}, {"path": "/a"}, {"op": ["add"], "path": "/a"}])
def test_an_unknown_operation_is_dropped(client: StartClient, caplog: pytest.LogCaptureFixture, unknown: Json) -> None:
    events = [snapshot({"a": 1}), delta(unknown, add("/b", 2))]
    assert Minimal(client, "patch-operations").proves(*events).state == {"a": 1, "b": 2}
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.59") == ["patch operations"]


def test_an_unknown_operation_on_an_activity_is_dropped(client: StartClient) -> None:
    activity: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN", "content": {}}
    patch = [{"op": "increment", "path": "/a"}, add("/b", 2)]
    change = {"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "PLAN", "patch": patch}
    end = Minimal(client, "patch-operations").proves(snapshot({"a": 1}), activity, change, alike=False)
    assert end.messages[0]["content"] == {"b": 2}


@pytest.mark.parametrize("operations", [["add"], [None], [add("a", 1)], [{"op": "add", "path": "/a"}]])
def test_operations_that_no_client_reads_are_left_to_it(operations: list[Any]) -> None:
    assert made("0.0.59", delta(*operations)) == [delta(*operations)]
    assert made("0.0.59", {"type": "STATE_DELTA", "delta": {}}) == [{"type": "STATE_DELTA", "delta": {}}]


def test_state_is_not_predicted(client: StartClient) -> None:
    told = {"state_key": "draft", "tool": "write", "tool_argument": "text"}
    events: list[Json] = [
        {"type": "CUSTOM", "name": "PredictState", "value": [told]},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "write"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"text": "draft"}'},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]
    assert Minimal(client, "predicted-state").proves(*events).state == {}
    other: Json = {"type": "CUSTOM", "name": "Predict", "value": [told]}
    assert made("0.0.30", other) == [other]
