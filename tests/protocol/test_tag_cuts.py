"""A large snapshot loses the tags of its messages by a cut where that is proved to be right, else message by message."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware.filters.subagents import untag
from agui_middleware.protocol.event import Event

PADDING = "x" * 20_000
FIRST = {"id": "m", "role": "assistant", "content": PADDING}


def snapshot(*messages: str, type: str = '{"type":"MESSAGES_SNAPSHOT"', rest: str = "") -> bytes:
    return f'{type},{rest}"messages":[{",".join([dumped(FIRST), *messages])}]}}'.encode()


def dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def untagged(raw: bytes) -> bytes:
    """The snapshot without tags, each message read: as of an event that has its members from elsewhere."""
    return untag(Event.parse(raw).replace(timestamp=0).without("timestamp")).raw


MESSAGES = {
    "a tag in the middle": '{"id":"a","subagentRunId":"s","content":"c"}',
    "a tag at the end": '{"id":"a","subagentRunId":"s"}',
    "a tag at the start": '{"subagentRunId":"s","id":"a"}',
    "a tag alone": '{"subagentRunId":"s"}',
    "no ASCII": '{"id":"a","subagentRunId":"é\U0001f600","content":"c"}',
    "an empty tag": '{"id":"a","subagentRunId":"","content":"c"}',
    "a number": '{"id":"a","subagentRunId":7,"content":"c"}',
    "null": '{"id":"a","subagentRunId":null,"content":"c"}',
    "an object": '{"id":"a","subagentRunId":{"subagentRunId":"s"},"content":"c"}',
    "spaces": '{"id":"a", "subagentRunId": "s", "content": "c"}',
    "a space behind the colon": '{"id":"a","subagentRunId": "s","content":"c"}',
    "a space behind the comma": '{"id":"a", "subagentRunId":"s","content":"c"}',
    "an escape in the tag": r'{"id":"a","subagentRunId":"\"s\"","content":"c"}',
    "an escaped letter in the tag": r'{"id":"a","subagentRunId":"\u0073","content":"c"}',
    "an escaped name": r'{"id":"a","subagentRun\u0049d":"s","content":"c"}',
    "an escaped name, and one inside": r'{"id":"a","subagentRun\u0049d":"s","metadata":{"x":1,"subagentRunId":"s"}}',
    "two tags": '{"id":"a","subagentRunId":"s","subagentRunId":"u","content":"c"}',
    "in its metadata": '{"id":"a","metadata":{"x":1,"subagentRunId":"s"},"content":"c"}',
    "in both": '{"id":"a","metadata":{"x":1,"subagentRunId":"s"},"subagentRunId":"s"}',
    "in a call": '{"id":"a","subagentRunId":"s","toolCalls":[{"id":"c","subagentRunId":"s"}]}',
    "in its text": r'{"id":"a","subagentRunId":"s","content":"x,\"subagentRunId\":\"s\""}',
    "at the end of a text": r'{"id":"a","content":"x,\"subagentRunId","subagentRunId":"s"}',
    "as a text": '{"id":"a","content":"subagentRunId","subagentRunId":"s"}',
    "half an emoji": r'{"id":"a","content":"\ud83d","subagentRunId":"s"}',
    "no message": "7",
    "no tag": '{"id":"a","content":"c"}',
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize(
    "other", ['{"id":"b","subagentRunId":"s"}', '{"id":"b"}', '{"id":"b","metadata":{"subagentRunId":"s"}}']
)
def test_a_snapshot_loses_the_tags_of_its_messages_and_nothing_else(message: str, other: str) -> None:
    for messages in ([message], [message, other], [other, message]):
        raw = snapshot(*messages)
        assert json.loads(untag(Event.parse(raw)).raw) == json.loads(untagged(raw))


@pytest.mark.parametrize(
    "raw",
    [
        snapshot(MESSAGES["a tag at the end"], rest='"subagentRunId":"u",'),
        snapshot(MESSAGES["a tag at the end"], rest='"subagentRunId":7,'),
        snapshot(MESSAGES["a tag at the end"], rest='"metadata":{"subagentRunId":"u"},'),
        snapshot(MESSAGES["a tag at the end"], rest='"messages":[{"subagentRunId":"u"}],'),
        snapshot(MESSAGES["a tag at the end"], rest='"messages":7,'),
        snapshot(MESSAGES["a tag at the end"], type='{ "type": "MESSAGES_SNAPSHOT"'),
        snapshot(MESSAGES["a tag at the end"]).replace(b'"messages":[', b'"messages":{"a":[').replace(b"]}", b"]}}"),
        snapshot(MESSAGES["a tag at the end"])[:-1] + b',"messages":null}',
        snapshot(MESSAGES["a tag at the end"])[:-1] + rb',"x":"\ud83d"}',
    ],
)
def test_tags_elsewhere_and_messages_of_another_shape(raw: bytes) -> None:
    assert json.loads(untag(Event.parse(raw)).raw) == json.loads(untagged(raw))


def test_of_two_types_the_second_counts() -> None:
    raw = snapshot(MESSAGES["a tag at the end"])[:-1] + b',"type":"CUSTOM"}'
    assert untag(Event.parse(raw)).raw == raw


def test_a_cut_leaves_all_other_bytes_and_what_has_no_tag_is_the_event_itself() -> None:
    tagged = snapshot('{"id":"a" ,"x":1.0,"subagentRunId":"s","n":1e400}', '{"id":"b","subagentRunId":"u"}')
    bare = snapshot('{"id":"a" ,"x":1.0,"n":1e400}', '{"id":"b"}')
    cut = untag(Event.parse(tagged))
    assert cut.raw == bare
    assert cut.get_list("messages") is not None
    event = Event.parse(bare)
    assert untag(event) is event


def test_messages_that_were_replaced_are_read() -> None:
    event = Event.parse(snapshot()).replace(messages=[{"id": "a", "subagentRunId": "s"}])
    assert untag(event)["messages"] == [{"id": "a"}]


names = st.sampled_from(["subagentRunId", "id", "metadata", "a", 'x,"subagentRunId":"s"'])
values = st.recursive(
    st.sampled_from(["s", "", 7, None, "é", '"', "subagentRunId", '","subagentRunId":"s']),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(names, values, max_size=4), max_size=4), st.dictionaries(names, values, max_size=2))
def test_any_messages_lose_their_own_tags(messages: list[Any], members: dict[str, Any]) -> None:
    raw = dumped({"type": "MESSAGES_SNAPSHOT", **members, "messages": [FIRST, *messages]}).encode()
    expected = [
        {k: v for k, v in message.items() if k != "subagentRunId" or not isinstance(v, str)} for message in messages
    ]
    assert json.loads(untag(Event.parse(raw)).raw)["messages"] == [FIRST, *expected]
    assert json.loads(untag(Event.parse(raw)).raw) == json.loads(untagged(raw))
