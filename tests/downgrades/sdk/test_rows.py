"""Each row on the smallest stream that has its feature: what it changes, and what it leaves byte by byte."""

import json
import logging
from typing import ClassVar

import pytest

from agui_middleware import rewrite
from agui_middleware.downgrades import SDK_ROWS
from agui_middleware.testing import decode_events
from tests.strategies import Json, plain

FILTERS = {row.name: row.filter for row in SDK_ROWS if row.filter is not None}


def changed(row: str, *events: Json) -> list[Json]:
    return decode_events(rewrite(plain(events), filters=[FILTERS[row]]))


def one(row: str, event: Json) -> Json:
    return changed(row, event)[0]


def stays(row: str, *events: Json) -> None:
    stream = plain(events)
    assert rewrite(stream, filters=[FILTERS[row]]) == stream


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


USER: Json = {"id": "u", "role": "user", "content": "hi"}
ACTIVITY: Json = {"id": "a", "role": "activity", "activityType": "x", "content": {}}
REASONING: Json = {"id": "r", "role": "reasoning", "content": "hm"}
RUN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}


@pytest.mark.parametrize(
    ("row", "event"),
    [
        ("no-steps", {"type": "STEP_STARTED", "stepName": "s"}),
        ("no-steps", {"type": "STEP_FINISHED", "stepName": "s"}),
        ("no-raw-or-custom", {"type": "RAW", "event": 1}),
        ("no-raw-or-custom", {"type": "CUSTOM", "name": "n", "value": 1}),
        ("no-tool-calls", {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}),
        ("no-tool-calls", {"type": "TOOL_CALL_RESULT", "toolCallId": "c", "messageId": "m", "content": ""}),
        ("no-state", {"type": "STATE_DELTA", "delta": []}),
        ("no-snapshots", snapshot(USER)),
    ],
)
def test_types_that_end_the_run_are_dropped_and_reported(
    row: str, event: Json, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert changed(row, RUN, event) == [RUN]
    assert ["lost" in record.message for record in caplog.records] == [True]


def test_an_input_echo_is_removed_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert one("no-input-echo", RUN | {"input": {"messages": []}}) == RUN
    assert "input echo" in caplog.text
    stays("no-input-echo", RUN)


def test_activities_leave_a_snapshot_and_reasoning_stays(caplog: pytest.LogCaptureFixture) -> None:
    assert one("activity-messages", snapshot(USER, ACTIVITY, REASONING)) == snapshot(USER, REASONING)
    assert "activity messages" in caplog.text
    stays("activity-messages", snapshot(USER, REASONING), RUN)


def test_activities_and_reasoning_leave_a_snapshot_and_an_input_echo() -> None:
    assert one("five-roles", snapshot(USER, ACTIVITY, REASONING)) == snapshot(USER)
    echo = RUN | {"input": {"messages": [ACTIVITY, USER]}}
    assert one("five-roles", echo) == RUN | {"input": {"messages": [USER]}}
    stays("five-roles", snapshot(USER), RUN, snapshot({"id": "u", "role": "user", "content": "activity"}))


def test_empty_arguments_are_dropped() -> None:
    args: Json = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": ""}
    assert changed("empty-arguments", RUN, args) == [RUN]
    stays("empty-arguments", args | {"delta": '""'}, args | {"delta": "{}"}, args | {"delta": "{}", "toolCallId": ""})


def test_empty_patches_are_dropped() -> None:
    delta: Json = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "x", "patch": []}
    assert changed("empty-patches", RUN, delta) == [RUN]
    stays("empty-patches", delta | {"patch": [{"op": "remove", "path": "/a"}]})


def test_a_state_of_null_becomes_the_empty_one() -> None:
    state: Json = {"type": "STATE_SNAPSHOT", "snapshot": None}
    assert one("null-states", state) == state | {"snapshot": {}}
    stays("null-states", state | {"snapshot": 0}, state | {"snapshot": {"a": None}}, {"type": "STATE_SNAPSHOT"})


def test_optional_members_that_are_null_are_removed() -> None:
    start: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
    assert one("null-members", start | {"role": None, "rawEvent": None, "timestamp": None}) == start
    activity: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {"a": None}}
    assert one("null-members", activity | {"replace": None}) == activity


def test_null_members_of_messages_calls_and_parts_are_removed() -> None:
    call: Json = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "null"}}
    part: Json = {"type": "text", "text": "hi"}
    assistant: Json = {"id": "m", "role": "assistant", "toolCalls": [call]}
    user: Json = {"id": "u", "role": "user", "content": [part]}
    tool: Json = {"id": "t", "role": "tool", "toolCallId": "c", "content": "1"}
    nulls = snapshot(
        assistant | {"content": None, "name": None, "toolCalls": [call | {"encryptedValue": None}]},
        user | {"name": None, "content": [part | {"id": None}]},
        tool | {"error": None},
    )
    assert one("null-members", nulls) == snapshot(assistant, user, tool)
    assert one("null-members", RUN | {"input": {"messages": [tool | {"error": None}]}}) == (
        RUN | {"input": {"messages": [tool]}}
    )


def test_a_null_that_is_data_or_required_stays() -> None:
    stays(
        "null-members",
        {"type": "STATE_SNAPSHOT", "snapshot": None},
        {"type": "CUSTOM", "name": "n", "value": None},
        {"type": "RAW", "event": None},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "null"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": None, "delta": "x"},
        snapshot({"id": "u", "role": "user", "content": None}),
    )


def test_a_start_without_a_role_gets_the_one_that_the_protocol_gives_it() -> None:
    text: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
    assert one("start-roles", text) == text | {"role": "assistant"}
    reasoning: Json = {"type": "REASONING_MESSAGE_START", "messageId": "m"}
    assert one("start-roles", reasoning) == reasoning | {"role": "reasoning"}
    stays("start-roles", text | {"role": "user"})


@pytest.mark.parametrize(("timestamp", "integer"), [("1.75", 1), ("-1.5", -1), ("2.0", 2), ("1e3", 1000)])
def test_a_fraction_of_a_timestamp_is_cut_off(timestamp: str, integer: int) -> None:
    stream = f'data: {{"type":"CUSTOM","name":"n","value":1.5,"timestamp":{timestamp}}}\n\n'.encode()
    (event,) = decode_events(rewrite(stream, filters=[FILTERS["float-timestamps"]]))
    assert event == {"type": "CUSTOM", "name": "n", "value": 1.5, "timestamp": integer}
    assert type(event["timestamp"]) is int


def test_a_timestamp_beyond_all_numbers_is_removed() -> None:
    stream = b'data: {"type":"CUSTOM","name":"n","value":1,"timestamp":1e999}\n\n'
    (event,) = decode_events(rewrite(stream, filters=[FILTERS["float-timestamps"]]))
    assert event == {"type": "CUSTOM", "name": "n", "value": 1}


def test_integers_and_timestamps_inside_other_members_stay() -> None:
    stays("float-timestamps", RUN | {"timestamp": 1}, {"type": "RAW", "event": {"timestamp": 1.5}, "timestamp": 2}, RUN)


def test_old_names_of_members_stand_beside_the_new_ones() -> None:
    call: Json = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}
    assert one("member-aliases", call) == call | {"toolName": "f"}
    error: Json = {"type": "RUN_ERROR", "message": "boom"}
    assert one("member-aliases", error) == error | {"error": {"message": "boom"}}
    stays("member-aliases", call | {"toolName": "g"}, error | {"error": {"message": "other"}})


class TestDeclaredMembers:
    def test_all_others_are_removed(self) -> None:
        assert one("declared-members", RUN | {"protocolVersion": "1.0", "input": {}, "timestamp": 1}) == (
            RUN | {"timestamp": 1}
        )

    def test_the_message_of_an_error_moves_to_where_the_class_has_it(self) -> None:
        error: Json = {"type": "RUN_ERROR", "message": "boom", "code": "c"}
        assert one("declared-members", error) == {"type": "RUN_ERROR", "error": "boom"}
        assert one("declared-members", error | {"error": "e"}) == {"type": "RUN_ERROR", "error": "e"}

    def test_messages_keep_what_their_classes_declare(self) -> None:
        call: Json = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        extra = {"metadata": {}, "subagentRunId": "s"}
        assistant: Json = {"id": "m", "role": "assistant", "toolCalls": [call]}
        tool: Json = {"id": "t", "role": "tool", "content": "1", "toolCallId": "c"}
        odd: Json = {"id": "o", "role": 1}
        more = snapshot(assistant | {"toolCalls": [call | extra]} | extra, tool | extra, USER | extra, odd | extra)
        assert one("declared-members", more) == snapshot(assistant, tool, USER, odd)

    @pytest.mark.parametrize("type", ["STATE_SNAPSHOT", "RAW", "CUSTOM", "THINKING_START"])
    def test_an_event_of_which_nothing_is_left_is_dropped(self, type: str, caplog: pytest.LogCaptureFixture) -> None:
        assert changed("declared-members", RUN, {"type": type, "value": 1}) == [RUN]
        assert "no field for its contents" in caplog.text

    def test_an_unknown_type_stays(self) -> None:
        stays("declared-members", {"type": "NEW", "a": 1})


def call(id: str) -> Json:
    return {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "f"}


def args(id: str, delta: str) -> Json:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}


def called(id: str) -> Json:
    return {"type": "TOOL_CALL_END", "toolCallId": id}


def result(id: str) -> Json:
    return {"type": "TOOL_CALL_RESULT", "toolCallId": id, "messageId": f"{id}-result", "content": "1"}


FINISHED: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED: Json = {"type": "RUN_ERROR", "message": "boom"}
TEXT: Json = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}


class TestParallelCalls:
    def test_a_call_waits_for_the_end_of_the_one_before(self) -> None:
        events = [call("a"), call("b"), args("a", "1"), TEXT, args("b", "2"), called("b"), result("b"), called("a")]
        assert changed("parallel-calls", *events) == [
            *[call("a"), args("a", "1"), TEXT, called("a")],
            *[call("b"), args("b", "2"), called("b"), result("b")],
        ]

    def test_one_that_has_not_ended_is_open_at_the_client(self) -> None:
        events = [
            call("a"),
            call("b"),
            call("c"),
            args("b", "2"),
            called("a"),
            args("c", "3"),
            called("b"),
            args("c", "4"),
        ]
        assert changed("parallel-calls", *events) == [
            *[
                call("a"),
                called("a"),
                call("b"),
                args("b", "2"),
                called("b"),
                call("c"),
                args("c", "3"),
                args("c", "4"),
            ],
        ]

    def test_a_call_that_goes_on_behind_its_end_waits_as_one_that_is_open(self) -> None:
        events = [call("a"), call("b"), called("b"), args("b", "2"), called("a"), called("b"), call("c")]
        assert changed("parallel-calls", *events) == [
            *[call("a"), called("a"), call("b"), called("b"), args("b", "2"), called("b"), call("c")],
        ]

    @pytest.mark.parametrize("last", [[FINISHED], [FAILED], []])
    def test_what_waits_leaves_before_the_run_ends(self, last: list[Json]) -> None:
        events = [call("a"), call("b"), args("b", "2"), call("c"), *last]
        assert changed("parallel-calls", *events) == [call("a"), call("b"), args("b", "2"), call("c"), *last]

    def test_calls_one_after_the_other_keep_their_bytes(self) -> None:
        stays("parallel-calls", call("a"), args("a", "1"), called("a"), result("a"), call("b"), called("b"), FINISHED)

    def test_a_start_again_and_an_id_that_is_not_one_stay(self) -> None:
        stays(
            "parallel-calls", call("a"), call("a"), called("a"), args("x", "1"), called("x"), {"type": "TOOL_CALL_END"}
        )

    def test_what_takes_too_much_ends_the_run_and_the_open_call(self) -> None:
        large = args("b", "x" * 4_000_000)
        events = [call("a"), call("b"), large, large, large]
        ended = changed("parallel-calls", RUN, *events)
        assert [event["type"] for event in ended] == ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_END", "RUN_ERROR"]
        assert ended[-1]["code"] == "AGUI_EVENT_TOO_LARGE"


class TestOtherParents:
    START: ClassVar[Json] = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
    CHILD: ClassVar[Json] = call("a") | {"parentMessageId": "m"}

    @pytest.mark.parametrize("role", ["user", "system", "developer"])
    def test_a_call_of_a_message_that_holds_no_calls_has_no_parent(self, role: str) -> None:
        start = self.START | {"role": role}
        assert changed("other-parents", start, self.CHILD) == [start, call("a")]
        restates = snapshot({"id": "m", "role": role, "content": "hi"})
        assert changed("other-parents", restates, self.CHILD) == [restates, call("a")]

    def test_any_other_call_keeps_its_parent(self) -> None:
        stays("other-parents", call("b"), self.START | {"role": "assistant"}, self.CHILD)
        stays("other-parents", self.CHILD)
        stays("other-parents", self.START | {"role": "user"}, self.CHILD | {"parentMessageId": 1})


class TestCallMessages:
    START: ClassVar[Json] = {"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"}
    END: ClassVar[Json] = {"type": "TEXT_MESSAGE_END", "messageId": "a"}
    CHILD: ClassVar[Json] = call("a") | {"parentMessageId": "m"}

    def test_a_call_before_its_message_has_said_anything_has_one_of_its_own(self) -> None:
        own = call("a") | {"parentMessageId": "a"}
        assert changed("call-messages", RUN, call("a"), args("a", "1")) == [
            RUN,
            self.START,
            self.END,
            own,
            args("a", "1"),
        ]
        assert changed("call-messages", self.CHILD, TEXT) == [self.START, self.END, own, TEXT]

    def test_a_call_of_a_message_that_has_said_something_stays_there(self) -> None:
        stays("call-messages", TEXT, self.CHILD)

    def test_an_id_that_is_none_is_the_clients_to_report(self) -> None:
        stays(
            "call-messages",
            {"type": "TOOL_CALL_START", "toolCallId": 1, "toolCallName": "f"},
            TEXT | {"messageId": [1]},
        )


def test_every_row_has_words(caplog: pytest.LogCaptureFixture) -> None:
    assert len({row.name for row in SDK_ROWS}) == len(SDK_ROWS)
    for row in SDK_ROWS:
        assert row.filter or row.upgrade, row.name
        assert row.symptom, row.name
        assert not row.symptom.endswith("."), row.name


@pytest.mark.parametrize("row", FILTERS)
def test_a_row_changes_nothing_twice(row: str) -> None:
    events: list[Json] = [
        *[RUN | {"input": {"messages": [ACTIVITY, USER]}, "parentRunId": None}, call("a"), call("b"), args("b", "")],
        *[called("a"), snapshot(USER, ACTIVITY), FAILED | {"timestamp": 1.5}],
    ]
    once = rewrite(json_stream(events), filters=[FILTERS[row]])
    assert rewrite(once, filters=[FILTERS[row]]) == once


def json_stream(events: list[Json]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
