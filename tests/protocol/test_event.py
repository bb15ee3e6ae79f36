import json
from typing import Any, get_args

import pytest
from ag_ui.core import (
    AssistantMessage,
    MessagesSnapshotEvent,
    RawEvent,
    RunFinishedEvent,
    StateSnapshotEvent,
    TextMessageStartEvent,
)
from ag_ui.core import (
    Event as ProtocolEvent,
)
from ag_ui.core import (
    EventType as ProtocolType,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from agui_middleware.protocol.event import Event, MalformedEvent, as_event
from agui_middleware.protocol.event_types import EventType
from tests.protocol.test_json_scan import DEEP
from tests.strategies import dumped, runs, styles

RAW = b'{"type":"TEXT_MESSAGE_START","messageId":"m","subagentRunId":"s","role":"assistant","n":1.0}'
PAYLOAD, TEXT = b'{"a":1,"subagentRunId":"s"}', rb'"a,\"subagentRunId\":\"s\""'
ODD: list[Any] = [None, 0, 1.5, True, [], ["m"], {}, {"id": "m"}, "\ud83d", ""]


def test_event_types_are_those_of_the_protocol_and_the_five_older_ones() -> None:
    """ag-ui-protocol 1.0 lists the 31 types of AG-UI 1.0."""
    ours, theirs = set(map(str, EventType)), {str(type.value) for type in ProtocolType}
    assert len(theirs) == len(get_args(get_args(ProtocolEvent)[0])) == 31
    assert ours - theirs == {type for type in ours if type.startswith("THINKING_")}
    assert ours >= theirs
    assert len(ours) == 36
    assert all(type.name == type.value for type in EventType)


def test_a_parsed_event_is_a_mapping_and_keeps_its_bytes() -> None:
    event = Event.parse(RAW)
    assert event == json.loads(RAW)
    assert event.type == event["type"] == EventType.TEXT_MESSAGE_START
    assert (event["messageId"], event["role"], event.get("x"), event.get("x", 1)) == ("m", "assistant", None, 1)
    assert ("messageId" in event, "toolCallId" in event, "role" in event, "x" in event) == (True, False, True, False)
    assert list(event) == ["type", "messageId", "subagentRunId", "role", "n"]
    assert event.raw is RAW
    with pytest.raises(KeyError):
        event["toolCallId"]


def test_the_head_holds_the_members_that_filters_look_at() -> None:
    event = Event.parse(b'{"type":"X","toolCallId":"c","parentMessageId":null,"entityId":"e","stepName":5}')
    head = event.head
    assert (head.type, head.toolCallId, head.parentMessageId, head.entityId, head.stepName) == ("X", "c", None, "e", 5)
    assert head.messageId is head.subagentRunId is UNSET


def test_an_event_cannot_be_changed() -> None:
    event = Event.parse(RAW)
    with pytest.raises(TypeError):
        event["role"] = "user"  # type: ignore[index]
    with pytest.raises(AttributeError):
        event.head.type = "X"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        event.role = "user"  # type: ignore[attr-defined]


@given(st.data())
def test_every_event_reads_as_it_was_written_in_any_style(data: st.DataObject) -> None:
    for members in data.draw(runs(max_moves=8)):
        raw = dumped(members, data.draw(styles())).replace("\n", " ").encode()
        event = Event.parse(raw)
        assert event == members
        assert event.type == members["type"]
        assert event.raw is raw
        smaller = event.replace(messageId="new").without("type2", "subagentRunId")
        expected = {**members, "messageId": "new"}
        expected.pop("subagentRunId", None)
        assert json.loads(smaller.raw) == expected == smaller
        assert {name: getattr(smaller.head, name) for name in ("messageId", "subagentRunId")} == {
            "messageId": "new",
            "subagentRunId": UNSET,
        }


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize(
    "name", ["messageId", "toolCallId", "subagentRunId", "parentMessageId", "entityId", "stepName"]
)
def test_a_member_of_a_wrong_type_does_not_make_an_event_unreadable(name: str, value: Any) -> None:
    raw = json.dumps({"type": "X", name: value, "a": 1}, separators=(",", ":")).encode()
    event = Event.parse(raw)
    assert event.raw is raw
    assert (event[name], getattr(event.head, name), name in event) == (value, value, True)
    assert event.without(name).raw == b'{"type":"X","a":1}'
    assert event.replace(a=2)[name] == value
    assert event.replace(**{name: "x"}).head != event.head


@pytest.mark.parametrize(
    ("raw", "type"),
    [
        (rb'{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"\ud83d"}', "TEXT_MESSAGE_CONTENT"),
        (rb'{"delta":"\ude00","messageId":"\ud83d","type":"A"}', "A"),
        (rb'{"ty\u0070e":"B"}', "B"),
        (b'{"type":"A","type":"B"}', "B"),
        (b'{"type":1,"type":"B"}', "B"),
        (b'{"type":"A","delta":"\xff\x00"}'.replace(b"\x00", rb"\u0000"), "A"),
        (b'{"type":"A","deep":%b}' % DEEP, "A"),
        (b'{"type":"A","messageId":%b}' % DEEP, "A"),
        (b'{"type":"A","n":123456789012345678901234567890,"m":1e400,"o":-0.0}', "A"),
        (b' \t{"type" : "A" } ', "A"),
        (b'{"type":""}', ""),
        (rb'{"type":"\ud83d"}', "\ud83d"),
    ],
)
def test_what_every_client_reads_is_read(raw: bytes, type: str) -> None:
    event = Event.parse(raw)
    assert event.type == type
    assert event.raw is raw


def test_an_escaped_name_is_the_same_member() -> None:
    event = Event.parse(rb'{"type":"X","subagent\u0052unId":"s","a":1.0}')
    assert event.head.subagentRunId == "s"
    assert event.without("subagentRunId").raw == b'{"type":"X","a":1.0}'


def test_the_last_of_equal_members_counts() -> None:
    event = Event.parse(b'{"type":"X","subagentRunId":"a","subagentRunId":"b","subagentRunId":"b"}')
    assert event["subagentRunId"] == event.head.subagentRunId == "b"
    assert event.without("subagentRunId").raw == b'{"type":"X"}'


def test_an_id_nested_past_any_id_is_of_a_wrong_type_all_the_same() -> None:
    event = Event.parse(b'{"type":"A","messageId":%b}' % DEEP)
    assert not isinstance(event.head.messageId, str)
    assert event.without("messageId").raw == b'{"type":"A"}'


NO_EVENTS = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"type"',
    b"{}",
    b'{"type":1}',
    b'{"type":null}',
    b'{"type":["X"]}',
    b'{"Type":"X"}',
]
NO_EVENTS += [b'{"type":"X"', b'{"type":"X"} {}', b'{"type":"X","a":NaN}', b'{"type":"X",}', b"{'type':'X'}"]
NO_EVENTS += [b'{"type":"X","a":"\n"}', b'{"type":%b}' % DEEP]


@pytest.mark.parametrize("raw", NO_EVENTS)
def test_what_is_no_event_is_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedEvent):
        Event.parse(raw)


@pytest.mark.parametrize(
    ("raw", "shorter"),
    [
        (b'{"type":"X","subagentRunId":"s"}', b'{"type":"X"}'),
        (b'{"type": "X", "subagentRunId": "s", "n": 1.0}', b'{"type": "X", "n": 1.0}'),
        (b'{"subagentRunId":"s","type":"X","n":1.0}', b'{"type":"X","n":1.0}'),
        (b'{"type":"X","subagentRunId" :"s","n":1.0}', b'{"type":"X","n":1.0}'),
        # The same member in a payload, which is not to be touched, with and without the usual spelling at the top.
        (b'{"type":"X","v":{"a":1,"subagentRunId":"s"},"subagentRunId":"s"}', b'{"type":"X","v":%b}' % PAYLOAD),
        (b'{"subagentRunId":"s","type":"X","v":{"a":1,"subagentRunId":"s"}}', b'{"type":"X","v":%b}' % PAYLOAD),
        (b'{"type":"X","v":%b,"subagentRunId":"s"}' % TEXT, b'{"type":"X","v":%b}' % TEXT),
        (rb'{"type":"X","v":",","subagentRunId":"s"}', rb'{"type":"X","v":","}'),
        (rb'{"type":"X","subagentRunId":"\u0073"}', b'{"type":"X"}'),
        ('{"type":"X","subagentRunId":"é"}'.encode(), b'{"type":"X"}'),
        (rb'{"type":"X","subagentRunId":"\ud83d"}', b'{"type":"X"}'),
        (b'{"type":"X","subagentRunId":"%b"}' % (b"s" * 1000), b'{"type":"X"}'),
        (b'{"type":"X","subagentRunId":null}', b'{"type":"X"}'),
        # The name is elsewhere than it seems, or more than once.
        (rb'{"type":"X","subagentRun\u0049d":"s","v":{"a":1,"subagentRunId":"s"}}', b'{"type":"X","v":%b}' % PAYLOAD),
        (
            rb'{"type":"X","subagentRunId":"t","v":",\"subagentRunId\":\"t\""}',
            rb'{"type":"X","v":",\"subagentRunId\":\"t\""}',
        ),
        (b'{"type":"X","v":"subagentRunId","subagentRunId":"s"}', b'{"type":"X","v":"subagentRunId"}'),
        (b'{"type":"X","subagentRunId":"t","subagentRunId":"s","n":1.0}', b'{"type":"X","n":1.0}'),
        # The tag is spelled otherwise than it reads, also so that it stands before a quote.
        (rb'{"type":"X","subagentRunId":"a\/b","n":1.0}', b'{"type":"X","n":1.0}'),
        (rb'{"type":"X","subagentRunId":"\\\"","n":1.0}', b'{"type":"X","n":1.0}'),
        (rb'{"type":"X","subagentRunId":"\\","n":1.0}', b'{"type":"X","n":1.0}'),
        (rb'{"type":"X","subagentRunId":"\\\\","n":1.0}', b'{"type":"X","n":1.0}'),
    ],
)
def test_without_takes_one_member_off_and_leaves_the_bytes_of_the_others(raw: bytes, shorter: bytes) -> None:
    event = Event.parse(raw)
    assert event.without("subagentRunId").raw == shorter
    assert "subagentRunId" not in event.without("subagentRunId")
    assert event.replace(n=2).without("subagentRunId").raw == event.without("subagentRunId").replace(n=2).raw


NAMES = ['"subagentRunId"', r'"subagent\u0052unId"', '"v"', '"type"', '"messageId"']
VALUES = [r'"s"', r'"\""', r'"\\"', r'"\\\""', r'"a\/b"', r'"\u0073"', '"é"', '""', "null", "1.0", '"subagentRunId"']
VALUES += ['{"a":1,"subagentRunId":"s"}', r'",\"subagentRunId\":\"s\""', '[",","subagentRunId",":","s"]']
MEMBERS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from([":", ": ", " :"]), st.sampled_from(VALUES)), max_size=4
)


@given(MEMBERS, st.sampled_from([",", ", "]))
def test_without_a_tag_an_event_is_what_it_is_member_by_member(members: list[tuple[str, str, str]], comma: str) -> None:
    raw = "{" + comma.join(map("".join, [*members, ('"type"', ":", '"X"')])) + "}"
    event = Event.parse(raw.encode())
    shorter = event.untagged()
    if not isinstance(event.head.subagentRunId, str):
        assert shorter is event
        return
    assert shorter.members() == {n: v for n, v in event.members().items() if n != "subagentRunId"}
    assert shorter.head == Event.parse(shorter.raw).head


def test_without_what_is_not_there_is_the_event_itself() -> None:
    event = Event.parse(b'{"type":"X"}')
    assert event.without("subagentRunId") is event.without("a", "b") is event


def test_a_new_event() -> None:
    event = Event(type=EventType.CUSTOM, name="x", value={"a": [1]}, messageId="m", self=1)
    assert event.raw == b'{"type":"CUSTOM","name":"x","value":{"a":[1]},"messageId":"m","self":1}'
    assert (event.type, event.head.messageId, event["value"]) == ("CUSTOM", "m", {"a": [1]})
    assert type(event.type) is str
    assert event == json.loads(event.raw)


@pytest.mark.parametrize("type", [None, 1, b"X", ["X"]])
def test_an_event_has_a_string_type(type: Any) -> None:
    with pytest.raises(TypeError, match="string"):
        Event(type=type)
    with pytest.raises(TypeError, match="string"):
        Event(type="X").replace(type=type)
    with pytest.raises(TypeError, match="string"):
        Event(type="X").replace(type=Raw(b"1"))


def test_an_event_keeps_its_type() -> None:
    for event in (Event(type="X"), Event.parse(b'{"type":"X"}')):
        with pytest.raises(TypeError, match="string"):
            event.without("type")


def test_replace_may_change_the_type() -> None:
    event = Event.parse(RAW).replace(type=EventType.TEXT_MESSAGE_CHUNK)
    assert event.type == event["type"] == "TEXT_MESSAGE_CHUNK"
    assert event.raw == RAW.replace(b"START", b"CHUNK")


def test_members_given_as_raw_json_read_like_any_other() -> None:
    for event in (Event.parse(RAW), Event(type="X", messageId=Raw(b'"m"'))):
        changed = event.replace(messageId=Raw(b'"new"'), stepName=Raw(b"null"))
        assert (event.head.messageId, event["messageId"]) == ("m", "m")
        assert (changed.head.messageId, changed["messageId"], changed.head.stepName) == ("new", "new", None)
        assert json.loads(changed.raw)["messageId"] == "new"
        assert changed.replace(n=1).head == changed.head


def test_raw_json_that_is_none_is_malformed() -> None:
    with pytest.raises(MalformedEvent):
        Event(type="X").replace(messageId=Raw(b"{"))


def test_derived_events_keep_the_fields_of_their_frame() -> None:
    event = Event.parse(RAW, fields="fields")
    assert event.fields == event.replace(n=2).fields == event.without("n", "role").fields == "fields"
    assert event.without("subagentRunId").fields == "fields"
    assert Event(type="X").fields is None


def test_an_event_reads_as_its_json() -> None:
    assert repr(Event.parse(RAW)) == f"Event({RAW.decode()})"


def test_as_event_takes_events_mappings_and_models() -> None:
    event = Event(type="X")
    assert as_event(event) is event
    assert as_event({"type": "X", "a": None}).raw == b'{"type":"X","a":null}'
    model = TextMessageStartEvent(message_id="m", role="user", subagent_run_id="s")
    assert as_event(model) == {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user", "subagentRunId": "s"}


@pytest.mark.parametrize(
    "model",
    [
        StateSnapshotEvent(snapshot=None),
        StateSnapshotEvent(snapshot={"a": None, "b": [None]}),
        RawEvent(event=None),
        RunFinishedEvent(thread_id="t", run_id="r"),
        MessagesSnapshotEvent(messages=[AssistantMessage(id="m")], metadata={"a": None}),
    ],
)
def test_a_model_is_written_as_its_own_encoder_writes_it(model: Any) -> None:
    """What is not set is omitted, and what is null in a value stays."""
    assert as_event(model) == json.loads(model.model_dump_json(by_alias=True))


@pytest.mark.parametrize("value", [None, 1, "X", b'{"type":"X"}', [("type", "X")], {}, {"type": 1}, {1: 2}, object()])
def test_as_event_refuses_what_is_no_event(value: Any) -> None:
    with pytest.raises(TypeError):
        as_event(value)
