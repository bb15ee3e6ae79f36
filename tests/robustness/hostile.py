"""Draws JSON that is wrong in every way in which an event can be: as text, since much of it no serialiser would write."""

import json
from collections.abc import Sequence

from hypothesis import strategies as st

from agui_middleware import EventType

DEEP = 2_500  # past the interpreter's limit; of several in one event, fewer brackets than `json_scan.MOST_BRACKETS`

# By the name of the fault. All but the last few are JSON to every client.
VALUES: dict[str, bytes] = {
    "null": b"null",
    "false": b"false",
    "zero": b"0",
    "a fraction": b"1.50",
    "huge": b"1" + b"0" * 400,
    "past doubles": b"1e400",
    "empty": b'""',
    "text": b'"x"',
    "an id": b'"a"',
    "another id": b'"b"',
    "lone surrogate": b'"\\ud800"',
    "surrogates the wrong way round": b'"\\ude00\\ud83d"',
    "NUL": b'"\\u0000"',
    "long": b'"' + b"x" * 5000 + b'"',
    "invalid UTF-8": b'"\xff\xfe"',
    "empty list": b"[]",
    "list of nothing useful": b'[null,1,"x",[],{}]',
    "empty object": b"{}",
    "an object": b'{"id":"a","role":"tool","toolCallId":"b","subagentRunId":"s","content":"x"}',
    "an assistant": b'{"id":7,"role":"assistant","toolCalls":[{"id":"a"},{},7,{"id":[]}],"content":null}',
    "messages of wrong roles": b'[{"id":"a","role":[]},{"id":[],"role":"user"},{"role":{},"subagentRunId":[]},{}]',
    "messages with wrong calls": b'[{"id":"a","role":"assistant","toolCalls":7},{"role":"tool","toolCallId":{}}]',
    "messages with wrong parts": b'[{"role":"user","content":[{"type":[]},{"type":"image","source":7},5]}]',
    "messages with wrong sources": b'[{"role":"tool","content":[{"type":"audio","source":{"type":[],"mimeType":{}}}]}]',
    "parts": b'[{"type":"text","text":7},{"type":"text"},{"type":"image","source":{"type":{}}},{"type":"later"},[]]',
    "an input": b'{"messages":[{"id":"a","role":"user","content":[{"type":7},{"type":"text"},5]}],"tools":7}',
    "an outcome": b'{"type":"interrupt","interrupts":[7,{"id":"i","subagentRunId":"s"}],"pendingToolCallIds":["a",[]]}',
    "a wrong outcome": b'{"type":[],"interrupts":{},"pendingToolCallIds":7}',
    "a patch": b'[{"op":[]},{"op":"add"},{"op":"later","path":"/a"},{"op":"test","path":{},"value":1},7]',
    "duplicate keys": b'{"a":1,"a":{"a":2,"a":3},"subagentRunId":"s","subagentRunId":7}',
    "deep list": b"[" * DEEP + b"]" * DEEP,
    "deep object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a list with something deep": b'[{"id":"a","role":' + b"[" * DEEP + b"]" * DEEP + b',"subagentRunId":"s"}]',
    "an object with something deep": b'{"type":"x","messages":' + b"[" * DEEP + b"]" * DEEP + b"}",
}
BROKEN: dict[str, bytes] = {"NaN": b"NaN", "Infinity": b"-Infinity", "half": b'{"a"', "bare": b"x", "tab": b'"\t"'}

NAMES = [
    *(
        "messageId",
        "toolCallId",
        "toolCallName",
        "parentMessageId",
        "subagentRunId",
        "role",
        "name",
        "delta",
        "content",
    ),
    *("snapshot", "messages", "input", "outcome", "result", "usage", "threadId", "runId", "stepName", "activityType"),
    *("patch", "replace", "subtype", "entityId", "encryptedValue", "encryptedValueType", "value", "event", "source"),
    *("metadata", "rawEvent", "timestamp", "code", "message", "protocolVersion", "parentRunId", "title", "later"),
]
READ = ["subagentRunId", "role", "messages", "input", "outcome"]
READ_TYPES = [
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CHUNK",
    "TOOL_CALL_RESULT",
    "MESSAGES_SNAPSHOT",
    "RUN_STARTED",
    "RUN_FINISHED",
]
TYPES = [*(f'"{type}"'.encode() for type in EventType), b'"LATER"', b'""', b'"\\ud800"', b'"TEXT\\u005fMESSAGE_START"']

RUN = (b'{"type":"RUN_STARTED","threadId":"t","runId":"r"}', b'{"type":"RUN_FINISHED","threadId":"t","runId":"r"}')

values = st.sampled_from(list(VALUES.values())) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
).map(lambda value: json.dumps(value).encode())


@st.composite
def events(draw: st.DrawFn) -> bytes:
    """One object with a string `type`, well-formed as JSON and wrong in all else; members may come twice."""
    members = draw(st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=7))
    type = draw(st.sampled_from(TYPES))
    spelled = [b'"%b":%b' % (name.encode(), value) for name, value in members]
    spelled.insert(draw(st.integers(0, len(spelled))), b'"type":%b' % type)
    return b"{%b}" % b",".join(spelled)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """A few hostile events, most of them within a run."""
    drawn = draw(st.lists(events(), min_size=1, max_size=6))
    return [RUN[0], *drawn, RUN[1]] if draw(st.booleans()) else drawn


def framed(objects: Sequence[bytes]) -> bytes:
    return b"".join(b"data: %b\n\n" % each for each in objects)
