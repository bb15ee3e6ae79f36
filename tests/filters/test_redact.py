"""A pattern redacted, wherever an event carries text."""

import json
import re
from typing import Any

import pytest

from agui_middleware import Context, rewrite
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.redact import redact
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.protocol.event import as_event
from agui_middleware.stream.drive import run_filters
from agui_middleware.testing import decode_events, encode_events, run_filter
from tests.notation import Json, stream

NUMBER = "4111 1111 1111 1111"
CARD = r"\b\d{4}(?:[ -]?\d{4}){3}\b"
CARDS = redact(CARD)
RAW = redact(CARD, raw_events=True)


def pieces(type: str, text: str, cut: int, **members: Any) -> list[Json]:
    return [{"type": type, "delta": piece, **members} for piece in (text[:cut], text[cut:])]


async def texts(events: list[Json]) -> str:
    return "".join(event.get("delta", "") for event in await run_filter(CARDS, events))


TEXT = f"Card {NUMBER}, yes."
IN_PIECES: dict[str, tuple[list[Json], str, Json, list[Json]]] = {
    "a text": (stream("TS m"), "TEXT_MESSAGE_CONTENT", {"messageId": "m"}, stream("TE m")),
    "a text of a subagent": (
        stream("TS n @s"),
        "TEXT_MESSAGE_CONTENT",
        {"messageId": "n", "subagentRunId": "s"},
        stream("TE n @s"),
    ),
    "reasoning": (stream("GS g"), "REASONING_MESSAGE_CONTENT", {"messageId": "g"}, stream("GE g")),
    "thinking": (
        [{"type": "THINKING_TEXT_MESSAGE_START"}],
        "THINKING_TEXT_MESSAGE_CONTENT",
        {},
        [{"type": "THINKING_TEXT_MESSAGE_END"}],
    ),
    "arguments": (stream("KS c"), "TOOL_CALL_ARGS", {"toolCallId": "c"}, stream("KE c")),
    "text chunks": ([], "TEXT_MESSAGE_CHUNK", {"messageId": "m"}, []),
    "reasoning chunks": ([], "REASONING_MESSAGE_CHUNK", {"messageId": "g"}, []),
    "tool chunks": ([], "TOOL_CALL_CHUNK", {"toolCallId": "c", "toolCallName": "pay"}, []),
}


@pytest.mark.parametrize(("start", "type", "members", "end"), IN_PIECES.values(), ids=IN_PIECES)
async def test_a_match_is_replaced_wherever_the_pieces_are_cut(
    start: list[Json], type: str, members: Json, end: list[Json]
) -> None:
    for cut in range(len(TEXT)):
        assert await texts([*start, *pieces(type, TEXT, cut, **members), *end]) == "Card …, yes."
    for last in ([], stream("RF r"), stream("RE x")):  # it ends with the number, and how is all the same
        out = await run_filter(CARDS, [*start, *pieces(type, NUMBER, 9, **members), *last])
        assert NUMBER[:9] not in json.dumps(out)
        assert "".join(event.get("delta", "") for event in out) == "…"


@pytest.mark.parametrize("last", ["", "RF r", "RE x", "RS q", "TE m"])
async def test_what_was_held_back_leaves_at_every_end(last: str) -> None:
    events = stream('TS m; TC m 41; TC m 11 metadata={"a":1}')
    out = await run_filter(CARDS, [*events, *stream(last)])
    assert out == [events[0], {**events[2], "delta": ""}, *stream("TC m 4111"), *stream(last)]


async def test_interleaved_texts_are_texts_of_their_own() -> None:
    events = stream(
        "TS m; TS n; KS c; TC m 4111; TC n x; KA c 1111; TC n 1111; TC m -1111; TC n y; TC m -1111-1111z; KE c"
    )
    out = await run_filter(CARDS, [*events, *stream("TC m .; TE m; TE n")])
    assert (
        "".join(event["delta"] for event in out if event.get("messageId") == "m" and "delta" in event)
        == "4111-1111-1111-1111z."
    )
    assert "".join(event["delta"] for event in out if event.get("messageId") == "n" and "delta" in event) == "x1111y"
    assert "".join(event["delta"] for event in out if "toolCallId" in event and "delta" in event) == "1111"


async def test_a_piece_that_changes_loses_the_raw_event_that_repeats_it() -> None:
    raw = {"chunk": "4111 11"}
    events = [{**event, "rawEvent": raw, "timestamp": 1} for event in stream("TS m; TC m x,; TC m 4111; TC m y")]
    out = await run_filter(CARDS, events)
    assert out == [
        *events[:2],
        {key: value for key, value in events[3].items() if key != "rawEvent"} | {"delta": "4111y"},
    ]


def call(arguments: str) -> Json:
    return {"id": "c", "type": "function", "function": {"name": "pay", "arguments": arguments}}


WHOLE: list[Json] = [
    *stream(f'RE x usage=[{{"model":"{NUMBER.replace(" ", "-")}"}}]'),
    {"type": "RUN_ERROR", "message": NUMBER},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"a": [NUMBER]}},
    {
        "type": "RUN_FINISHED",
        "outcome": {
            "type": "interrupt",
            "interrupts": [{"id": "i", "reason": "ask", "message": NUMBER, "metadata": {"x": NUMBER}}],
        },
    },
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": NUMBER},
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": json.dumps({"card": NUMBER})},
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": [{"type": "text", "text": NUMBER}]},
    {"type": "STATE_SNAPSHOT", "snapshot": {"card": NUMBER, "n": [1.0, None, True, {"deep": [[NUMBER]]}]}},
    {"type": "STATE_SNAPSHOT", "snapshot": NUMBER},
    {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/card", "value": NUMBER}, {"op": "remove", "path": "/x"}]},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "PLAN", "content": {"step": NUMBER}},
    {"type": "ACTIVITY_DELTA", "messageId": "a", "patch": [{"op": "add", "path": "/a", "value": NUMBER}]},
    {"type": "CUSTOM", "name": "card", "value": {"a": NUMBER}, "metadata": {"b": [NUMBER]}, "rawEvent": {"c": NUMBER}},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "payer", "description": NUMBER},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "result": NUMBER},
    {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": NUMBER, "code": "x"},
    {"type": "MESSAGES_SNAPSHOT", "messages": [
        {"id": "u", "role": "user", "content": [
            {"type": "text", "text": NUMBER}, {"type": "image", "source": {"type": "url", "value": NUMBER}},
        ]},
        {"id": "m", "role": "assistant", "content": NUMBER, "metadata": {"x": NUMBER},
         "toolCalls": [call(json.dumps({"card": NUMBER}))]},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": json.dumps([NUMBER]), "error": NUMBER},
        {"id": "g", "role": "reasoning", "content": NUMBER},
        {"id": "a", "role": "activity", "activityType": "PLAN", "content": {"step": NUMBER}},
        {"id": "s", "role": "system", "content": NUMBER},
    ]},
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {
        "threadId": "t", "runId": "r", "state": {"a": NUMBER}, "messages": [{"id": "u", "role": "user", "content": NUMBER}],
        "context": [{"description": NUMBER, "value": NUMBER}], "forwardedProps": {"a": NUMBER},
        "tools": [{"name": "pay", "description": NUMBER, "parameters": {"description": NUMBER}}],
    }},
    {"type": "LATER", "text": NUMBER},
]  # fmt: skip


@pytest.mark.parametrize("event", WHOLE, ids=lambda event: event["type"])
async def test_a_whole_text_is_masked_wherever_it_stands(event: Json) -> None:
    [left] = await run_filter(CARDS, [event])
    assert json.loads(json.dumps(left, default=dict)) == json.loads(json.dumps(event).replace(NUMBER, "…"))


@pytest.mark.parametrize("event", WHOLE, ids=lambda event: event["type"])
def test_what_holds_no_match_keeps_its_bytes(event: Json) -> None:
    frame = b'data: {"a":1.0, "n" : 9007199254740993,"s":"\\u00e9\\ud83d",' + encode_events([event])[7:]
    clean = frame.replace(NUMBER.encode(), b"4111\\u00201111")
    assert rewrite(clean, filters=[CARDS]) == clean


NOT_TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": NUMBER, "role": "assistant", "name": NUMBER, "subagentRunId": NUMBER},
    {"type": "TOOL_CALL_START", "toolCallId": NUMBER, "toolCallName": NUMBER, "parentMessageId": NUMBER},
    {"type": "STEP_STARTED", "stepName": NUMBER},
    {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": NUMBER, "encryptedValue": NUMBER},
    {"type": "CUSTOM", "name": NUMBER, "value": {NUMBER: True}},
    {"type": "MESSAGES_SNAPSHOT", "messages": [], "metadata": {"@ag-ui/client": {"authoritativeActivityTypes": [NUMBER]}}},
    {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": NUMBER}]},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": None},
    {"type": "RUN_FINISHED", "threadId": NUMBER, "runId": NUMBER, "outcome": {"pendingToolCallIds": [NUMBER]}},
    {"type": "RUN_STARTED", "timestamp": 4111111111111111, "n": 4111111111111111, "input": 5, "later": [None, True]},
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": [
        {"type": "image", "source": {"type": "data", "value": NUMBER, "mimeType": "image/png"}},
    ]},
]  # fmt: skip


@pytest.mark.parametrize("event", NOT_TEXT)
async def test_what_clients_go_by_stays(event: Json) -> None:
    assert await run_filter(CARDS, [event]) == [event]


async def test_a_number_in_a_payload_becomes_the_replacement() -> None:
    [left] = await run_filter(CARDS, [{"type": "CUSTOM", "name": "x", "value": {"card": 4111111111111111, "n": 4}}])
    assert left["value"] == {"card": "…", "n": 4}
    [left] = await run_filter(redact(r"\d{5}", "#"), stream("CUSTOM x value=12345"))
    assert left["value"] == "#"


async def test_members_that_a_filter_has_put_in_are_masked_too() -> None:
    async def put(events: Any, context: Context) -> Any:
        async for event in events:
            yield event.replace(value={"a": [NUMBER, {"b": (NUMBER, 4111111111111111, None)}]}, text=NUMBER)

    [left] = decode_events(rewrite(encode_events(stream("CUSTOM x")), filters=[put, CARDS]))
    assert (left["value"], left["text"]) == ({"a": ["…", {"b": ["…", "…", None]}]}, "…")


@pytest.mark.parametrize("depth", [30, 100, 5000])
async def test_what_is_nested_too_deep_is_not_read_and_does_not_leave(depth: int) -> None:
    nested = "[" * depth + f'"{NUMBER}"' + "]" * depth
    frame = f'data: {{"type":"CUSTOM","name":"x","value":{nested}}}\n\n'.encode()
    out = rewrite(frame, filters=[CARDS])
    assert NUMBER.encode() not in out
    assert decode_events(out)[0]["type"] == "CUSTOM"
    objects = frame.replace(b"[", b'{"a":').replace(b"]", b"}")
    assert NUMBER.encode() not in rewrite(objects, filters=[CARDS])


# Snapshots of what is open.


async def test_a_snapshot_in_the_middle_of_a_text_holds_back_what_the_text_does() -> None:
    snapshot: Json = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {"id": "m", "role": "assistant", "content": "Card 4111 11", "toolCalls": [call('{"card":"4111 11')]},
            {"id": "g", "role": "reasoning", "content": "4111 11"},
            {"id": "n", "role": "assistant", "content": "4111 11"},
            {"id": "o", "role": "assistant", "toolCalls": [{"id": "d"}, 5]},
        ],
    }
    before = [
        *stream("TS m; GS g; KS c m; TC m Card"),
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": " 4111 11"},
    ]
    before += [{"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": "4111 11"}]
    before += [{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"card":"4111 11'}]
    rest = "11 1111 1111"
    after: list[Json] = [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": rest},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": rest},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": f'{rest}"}}'},
        *stream("TE m; GE g; KE c"),
    ]
    out = await run_filter(CARDS, [*before, snapshot, *after])
    place = [event["type"] for event in out].index("MESSAGES_SNAPSHOT")
    m, g, n, o = out[place]["messages"]
    assert (m["content"], m["toolCalls"][0]["function"]["arguments"]) == ("Card ", '{"card":"')
    assert (g["content"], n["content"], o["toolCalls"]) == ("", "4111 11", [{"id": "d"}, 5])
    behind = {
        name: "".join(event["delta"] for event in out[place + 1 :] if name in event.values() and "delta" in event)
        for name in "mgc"
    }
    assert behind == {"m": "…", "g": "…", "c": '…"}'}


async def test_a_snapshot_replaces_what_was_held_back() -> None:
    events = stream("TS m; TC m 4111; SNAP m; TC m x; TE m")
    assert await run_filter(CARDS, events) == stream("TS m; SNAP m; TC m x; TE m")


# Raw events, bounds, arguments.


async def test_raw_events_are_removed_unless_they_are_asked_for() -> None:
    losses: list[Loss] = []
    events: list[Json] = [{"type": "RAW", "event": {"chunk": "4111 11"}, "source": NUMBER}] * 2
    assert await run_filter(CARDS, events, losses=losses) == []
    assert [loss.feature for loss in losses] == ["RAW events"]
    assert await run_filter(RAW, events) == [{**event, "source": "…"} for event in events]


async def test_what_is_held_back_counts() -> None:
    context = Context(max_event_bytes=1600)
    opened = stream("TS a; TC a 4; TS b; TC b 4; TS c; TC c 4; TS d; TC d 4; TS e; TC e 4; TS f; TC f 4")
    with pytest.raises(EventTooLarge):
        await run_filters([as_event(event) for event in opened], Composition([CARDS]), context)
    closed = Context(max_event_bytes=1600)
    for _ in range(9):
        await run_filters([as_event(event) for event in stream("TS a; TC a 4; TE a")], Composition([CARDS]), closed)
    assert closed.budget.held == 0


async def test_the_replacement_and_the_pattern_can_be_chosen() -> None:
    assert await run_filter(
        redact(re.compile("card", re.IGNORECASE), '"'), stream("KS c; CUSTOM x value=5; RE Card")
    ) == [
        *stream("KS c; CUSTOM x value=5"),
        {"type": "RUN_ERROR", "message": '"'},
    ]
    out = await run_filter(
        redact("x", '"'), [{"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"a":"x","b":x}'}]
    )
    assert out[0]["delta"] == '{"a":"\\"","b":"\\""}'


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"pattern": 5}, TypeError, "pattern is a regular expression"),
        ({"pattern": re.compile(b"x")}, TypeError, "pattern is a regular expression"),
        ({"pattern": "("}, ValueError, "pattern is no regular expression"),
        ({"pattern": "x*"}, ValueError, "pattern matches the empty text"),
        ({"pattern": "x", "replacement": 5}, TypeError, "replacement is a string"),
        ({"pattern": "x", "longest": 0}, ValueError, "longest is a number of characters"),
        ({"pattern": "x", "longest": True}, ValueError, "longest is a number of characters"),
        ({"pattern": "x", "longest": "9"}, ValueError, "longest is a number of characters"),
        ({"pattern": "x", "raw_events": 1}, TypeError, "raw_events is true or false"),
    ],
)
def test_arguments_are_checked(arguments: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        redact(**arguments)
