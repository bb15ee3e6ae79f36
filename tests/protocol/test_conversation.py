"""The messages that a stream makes, next to the reader of the strategies, which the real client 1.0.0 is held against."""

import json
from typing import Any

import pytest
from msgspec import Raw

from agui_middleware import Event
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.posted import Messages, as_message, head_of, messages_in
from agui_middleware.protocol.reading import AS_1_0_0, Reading
from tests.downgrades.cases import Case, cases
from tests.notation import Json, stream
from tests.strategies.reader import InvalidStream, canonical, read


def held(events: list[Json] | str, messages: list[Json] | None = None, reading: Reading | None = None) -> list[Json]:
    """What a client holds that held `messages`."""
    conversation = Conversation(posted(messages or []), reading or AS_1_0_0)
    for event in stream(events) if isinstance(events, str) else events:
        conversation.take(Event.parse(json.dumps(event).encode()))
    return [json.loads(bytes(raw)) for _, raw in conversation.messages()]


def posted(messages: list[Json]) -> Messages:
    return [as_message(JsonObject(message)) for message in messages]


ROLES = ("user", "assistant", "system", "developer", "tool", "reasoning", "activity")


def _expected(case: Case) -> list[Json] | None:
    """What that reader holds; `None` where it does not read the case as 1.0.0 does: THINKING_*, and what is unknown."""
    if not all(event["type"] in list(EventType) for event in case.events):
        return None
    try:
        messages, _ = read(case.events)
    except (InvalidStream, KeyError):
        return None
    return messages if all(message["role"] in ROLES for message in messages) else None


@pytest.mark.untraced
def test_it_holds_what_the_reader_of_the_strategies_holds() -> None:
    read_by_both = [(case, expected) for case in cases() if (expected := _expected(case)) is not None]
    assert len(read_by_both) > 700
    for case, expected in read_by_both:
        ours, theirs = ([m for m in messages if m["role"] != "activity"] for messages in (held(case.events), expected))
        assert canonical(ours) == canonical(theirs), case.name


TEXT = {"role": "assistant", "content": "ab"}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("TS m; TC m a; TC m b; TE m", [{"id": "m", **TEXT}]),
        ('TS m name="Ann"; TC m ab', [{"id": "m", **TEXT, "name": "Ann"}]),
        ('GS g name="Ann"; GC g a', [{"id": "g", "role": "reasoning", "content": "a"}]),
        ("TS m @s; TC m ab; TS m @t; TE m", [{"id": "m", **TEXT, "subagentRunId": "s"}]),
        ('TS m metadata={"a":1}; TC m ab metadata={"b":2}', [{"id": "m", **TEXT, "metadata": {"a": 1, "b": 2}}]),
        ("TS m metadata=[1]; TC m ab", [{"id": "m", **TEXT}]),
        ("TC m a; TE m; KA c a; KE c; EV message m", []),
        ("TK m a; TK _ b", [{"id": "m", **TEXT}]),
        ('TK m a; TK _ x role="user"; TK _ b', [{"id": "m", **TEXT}]),
        ("TK _ a", []),
        (
            "TK m a @s; TK n a @t; TK _ x",
            [
                {"id": id, "role": "assistant", "content": "a", "subagentRunId": tag}
                for id, tag in (("m", "s"), ("n", "t"))
            ],
        ),
        ("GK g a; TK m ab; GK _ x", [{"id": "g", "role": "reasoning", "content": "a"}, {"id": "m", **TEXT}]),
        ("SNAP m; TC m ab", [{"id": "m", "role": "assistant", "content": "helloab"}]),
        ("AS m; TS m; TC m ab; GS m; EV message m", [{"id": "m", "role": "activity", "activityType": "plan"}]),
        ("TS m; AS m", [{"id": "m", "role": "activity", "activityType": "plan"}]),
        ("TS m; TC m ab; AS m replace=false", [{"id": "m", **TEXT}]),
        ("EV message m; TS m; TC m ab; EV message m", [{"id": "m", **TEXT, "encryptedValue": "x"}]),
        ("RS r m; RS r m n", [{"id": id, "role": "assistant", "content": "hello"} for id in ("m", "n")]),
        ("RS r; RF r; STATE; CUSTOM x; SUB+ s", []),
    ],
)
def test_messages(events: str, expected: list[Json]) -> None:
    assert held(events) == expected


def call(id: str, arguments: str = "", **members: Any) -> Json:
    return {"id": id, "type": "function", "function": {"name": "search", "arguments": arguments}, **members}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("KS c; KA c 1; KE c", [("c", [call("c", "1")])]),
        ("KS c p; KS d p", [("p", [call("c"), call("d")])]),
        ("SNAP u:user; KS c u", [("u", []), ("c", [call("c")])]),
        ("SNAP c:user; KS c c", [("c", []), ("c", [call("c")])]),
        ("SNAP m+c; KA c 1; KS c x", [("m", [call("c", "{}1")])]),
        ("KS c; KS c; KA c 1", [("c", [call("c", "1")])]),
        ('KS c metadata={"a":1}; KE c metadata={"b":2}', [("c", [call("c", metadata={"a": 1, "b": 2})])]),
        ("KS c; EV tool-call c", [("c", [call("c", encryptedValue="x")])]),
        ("KK c 1 search; KK _ 2; KR c t", [("c", [call("c", "12")]), ("t", [])]),
        ("KS c; TS m; KR c t; KR c u", [("c", [call("c")]), ("t", []), ("u", []), ("m", [])]),
        ("KS c; TS m; KR d t", [("c", [call("c")]), ("m", []), ("t", [])]),
        ("SNAP u:user+c; TS m; KR c t", [("u", [call("c", "{}")]), ("m", []), ("t", [])]),
    ],
)
def test_calls(events: str, expected: list[tuple[str, list[Json]]]) -> None:
    assert [(message["id"], message.get("toolCalls", [])) for message in held(events)] == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("TS m; TS n; SNAP n m o", ["m", "n", "o"]),
        ("TS m; TS n; SNAP n", ["n"]),
        ("GS g; AS a; TS m; SNAP n", ["g", "a", "n"]),
        ("GS g; SNAP h:reasoning", ["h"]),
        ("AS a; SNAP b:activity", ["b"]),
        ('AS a; SNAP n metadata={"@ag-ui/client":{"authoritativeActivityTypes":["plan"]}}', ["n"]),
        ('AS a; SNAP n metadata={"@ag-ui/client":{"authoritativeActivityTypes":["other"]}}', ["a", "n"]),
        ('AS a; SNAP n metadata={"@ag-ui/client":{"authoritativeActivityTypes":1}}', ["n"]),
        ("TS m; SNAP x:nobody", []),
        ("SNAP m t:tool=m m; SNAP m", ["m", "m"]),
    ],
)
def test_snapshots(events: str, expected: list[str]) -> None:
    assert [message["id"] for message in held(events)] == expected


@pytest.mark.parametrize(
    ("reading", "events", "expected"),
    [
        (Reading(replaces=True), "GS g; TS m; SNAP n m", ["n", "m"]),
        (Reading(keeps_reasoning=True), "GS g; SNAP h:reasoning g:reasoning", ["g", "h"]),
        (Reading(keeps_reasoning=False), "GS g; TS m; SNAP m", ["m"]),
        (Reading(echo=False), "RS r m", []),
        (Reading(results_last=True), "KS c; TS m; KR c t", ["c", "m", "t"]),
    ],
)
def test_orders_of_releases(reading: Reading, events: str, expected: list[str]) -> None:
    assert [message["id"] for message in held(events, reading=reading)] == expected


def test_members_that_a_release_does_not_keep() -> None:
    strips = Reading(strips=frozenset({"subagentRunId", "metadata", "encryptedValue"}), names=False)
    events = 'TS m name="Ann" metadata={"a":1} @s; TC m a; EV message m; KR c t @s'
    assert held(events, reading=strips) == [
        {"id": "m", "role": "assistant", "content": "a"},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "found"},
    ]


def test_untouched_messages_stay_the_very_same() -> None:
    before = posted([{"id": "m", "role": "assistant", "n": 1.0}, {"id": "n", "role": "assistant"}])
    conversation = Conversation(before)
    conversation.take(Event(type="TEXT_MESSAGE_CONTENT", messageId="n", delta="a"))
    after = conversation.messages()
    assert after[0] == before[0]
    assert after[0][1] is before[0][1]
    assert json.loads(bytes(after[1][1])) == {"id": "n", "role": "assistant", "content": "a"}
    assert conversation.budget.held == 1


def test_unknown_members_keep_their_bytes() -> None:
    call = b'{"id":"c","type":"function","function":{"name":"f","arguments":"","y":1e2},"z":1.0}'
    raw = b'{"id":"m","role":"assistant","x":1.0,"toolCalls":[%b,7]}' % call
    conversation = Conversation([(head_of(raw), Raw(raw))])
    conversation.take(Event(type="TOOL_CALL_ARGS", toolCallId="c", delta="a"))
    ((head, after),) = conversation.messages()
    assert bytes(after).replace(b'"arguments":"a"', b'"arguments":""') == raw
    assert head.calls == ["c"]


def test_a_message_without_an_id_is_kept() -> None:
    assert held("TS m", [{"role": "assistant"}])[0] == {"role": "assistant"}


def test_a_name_is_set_on_a_call_that_came_whole() -> None:
    before = {"id": "m", "role": "assistant", "toolCalls": [call("c", "{}")]}
    assert held('KS c toolCallName="look"', [before])[0]["toolCalls"][0]["function"] == {
        "name": "look",
        "arguments": "{}",
    }
    assert held('KE c metadata={"a":1}', [before])[0]["toolCalls"] == [call("c", "{}", metadata={"a": 1})]


def test_an_empty_delta_makes_the_text_of_a_message_that_has_none() -> None:
    assert held('KS c; TC c delta=""')[0]["content"] == ""


def test_what_is_so_far() -> None:
    conversation = Conversation(posted([{"id": "m", "role": "assistant", "toolCalls": [call("c", "{}")]}]))
    for event in stream("KS d; TC m a; TC m b; KA c x"):
        conversation.take(Event.parse(json.dumps(event).encode()))
    entity = [conversation.find("m"), conversation.find("d"), conversation.call("c"), conversation.call("d")]
    assert [each.so_far() for each in entity if each is not None] == ["ab", "", "{}x", ""]


def test_a_result_of_a_subagent() -> None:
    assert held("KR c t @s")[0]["subagentRunId"] == "s"


def test_text_begins_anew_where_there_were_parts() -> None:
    message = {"id": "m", "role": "user", "content": [{"type": "text", "text": "a"}]}
    assert held("TC m b", [message]) == [{"id": "m", "role": "user", "content": "b"}]


@pytest.mark.parametrize("call", [{"id": "c"}, {"id": "c", "function": 1}, {"id": "c", "function": {"arguments": 1}}])
def test_a_call_without_a_function_gets_one(call: Json) -> None:
    ((message),) = held("KA c a", [{"id": "m", "role": "assistant", "toolCalls": [call]}])
    assert message["toolCalls"][0]["function"]["arguments"] == "a"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "TEXT_MESSAGE_START", "messageId": 1},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": 1, "delta": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": None},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": 1},
        {"type": "TOOL_CALL_START", "toolCallId": None},
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": None, "toolCallId": "c", "content": "x"},
        {"type": "REASONING_ENCRYPTED_VALUE", "entityId": "m"},
        {"type": "ACTIVITY_SNAPSHOT"},
        {"type": "MESSAGES_SNAPSHOT"},
        {"type": "MESSAGES_SNAPSHOT", "messages": {}},
        {"type": "RUN_STARTED", "input": {"messages": "x"}},
        {"type": "UNKNOWN", "messageId": "m"},
    ],
)
def test_malformed_events_change_nothing(event: Json) -> None:
    message = {"id": "m", "role": "assistant", "content": "a"}
    after = held([event], [message])
    assert after == [message]


def test_a_name_of_a_call_that_is_none_is_left_out() -> None:
    assert held([{"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": 1}])[0]["toolCalls"][0]["function"] == {
        "name": "",
        "arguments": "",
    }


@pytest.mark.parametrize(
    "event",
    [
        Event(type="TEXT_MESSAGE_CONTENT", messageId="m", delta=Raw(b"nonsense")),
        Event(type="MESSAGES_SNAPSHOT", messages=Raw(b"[nonsense]")),
        Event(type="RUN_STARTED", input=Raw(b'{"messages":[nonsense]}')),
    ],
)
def test_members_that_are_no_json_change_nothing(event: Event) -> None:
    conversation = Conversation(posted([{"id": "m", "role": "assistant"}]))
    conversation.take(event)
    assert [head.id for head, _ in conversation.messages()] == ["m"]


def test_messages_of_an_object_that_is_no_json() -> None:
    assert messages_in(JsonObject.of(b'{"messages":[}')) == []
    assert messages_in(JsonObject({"messages": []})) == []


def test_an_id_that_is_no_string_is_not_looked_up() -> None:
    conversation = Conversation()
    assert conversation.find(1) is None
    assert conversation.call(None) is None
