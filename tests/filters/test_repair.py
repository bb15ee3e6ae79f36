from typing import Any

import pytest

from agui_middleware import rewrite
from agui_middleware.config.routes import Route
from agui_middleware.filters.repair import repair
from tests.downgrades.cases import events_of, stream
from tests.downgrades.minimal import FINISHED, STARTED, Json, StartClient

MARK: Any = object()  # where a member is to be null
EVERY_RELEASE = ("0.0.28", "0.0.36", "0.0.44", "0.0.58", "0.0.59", "1.0.0")
TAG = {"subagentRunId": MARK}
TEXT_START: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
TEXT_END: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
CALL_START: Json = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"}
CALL_END: Json = {"type": "TOOL_CALL_END", "toolCallId": "c"}
RESULT: Json = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "ok"}
REASONING_START: Json = {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"}
REASONING_END: Json = {"type": "REASONING_MESSAGE_END", "messageId": "g"}
SCOUT: Json = {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "scout"}
SCOUTED: Json = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}
ACTIVITY: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN", "content": {}}
STEP: Json = {"stepName": "plan"}
CALL: Json = {"id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}
IMAGE: Json = {"type": "image", "source": {"type": "url", "value": "a"}}
INPUT: Json = {"threadId": "t", "runId": "r", "messages": []}


def snapshot(**members: Any) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "x", **members}]}


def asked(*parts: Json) -> Json:
    return snapshot(role="user", content=list(parts))


def interrupted(**members: Any) -> Json:
    interrupt = {"id": "i", "reason": "approval", **members}
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}


def echo(**members: Any) -> Json:
    return {**STARTED, "input": {**INPUT, **members}}


NULLS: list[list[Json]] = [
    [STARTED | {"timestamp": MARK, "rawEvent": MARK, "metadata": MARK}, FINISHED],
    [STARTED | {"parentRunId": MARK, "protocolVersion": MARK, "input": MARK}, FINISHED],
    [STARTED, FINISHED | {"result": MARK, "outcome": MARK, "usage": MARK}],
    [STARTED, FINISHED | {"usage": [{"model": "x", "provider": MARK, "inputTokens": MARK, "cachedInputTokens": MARK}]}],
    [STARTED, {"type": "RUN_ERROR", "message": "no", "code": MARK, "usage": MARK}],
    [STARTED, interrupted(message=MARK, toolCallId=MARK, responseSchema=MARK, expiresAt=MARK, metadata=MARK, **TAG)],
    [STARTED, FINISHED | {"outcome": {"type": "success", "pendingToolCallIds": MARK}}],
    [STARTED, TEXT_START | {"role": MARK, "name": MARK, **TAG}, TEXT_END | TAG, FINISHED],
    [STARTED, TEXT_START, {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a", **TAG}, TEXT_END, FINISHED],
    [
        STARTED,
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": MARK, "name": MARK, "delta": MARK, **TAG},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": MARK, "delta": "a"},
        FINISHED,
    ],
    [
        STARTED,
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "look", "parentMessageId": MARK, "delta": MARK},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": MARK, "toolCallName": MARK, "delta": "a"},
        FINISHED,
    ],
    [
        STARTED,
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "g", "delta": MARK},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": MARK, "delta": "a"},
        FINISHED,
    ],
    [STARTED, CALL_START | {"parentMessageId": MARK, **TAG}, CALL_END | TAG, RESULT | {"role": MARK, **TAG}, FINISHED],
    [STARTED, RESULT | {"content": [{"type": "text", "text": "ok", "id": MARK, "metadata": MARK}]}, FINISHED],
    [STARTED, REASONING_START | TAG, REASONING_END | TAG, FINISHED],
    [
        STARTED,
        REASONING_START,
        REASONING_END,
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g", "encryptedValue": "x", **TAG},
        FINISHED,
    ],
    [STARTED, ACTIVITY | {"replace": MARK, **TAG}, FINISHED],
    [STARTED, {"type": "RAW", "event": None, "source": MARK, **TAG}, FINISHED],
    [STARTED, {"type": "CUSTOM", "name": "x", "value": None, **TAG}, FINISHED],
    [STARTED, {"type": "STATE_SNAPSHOT", "snapshot": {"a": None}, **TAG}, FINISHED],
    [STARTED, {"type": "STEP_STARTED", **STEP, **TAG}, {"type": "STEP_FINISHED", **STEP, **TAG}, FINISHED],
    [STARTED, SCOUT | {"description": MARK, "parentSubagentRunId": MARK, "parentToolCallId": MARK}, SCOUTED, FINISHED],
    [STARTED, SCOUT, SCOUTED | {"result": MARK, "outcome": MARK}, FINISHED],
    [STARTED, SCOUT, SCOUTED | {"outcome": {"type": "suspended", "interruptIds": MARK}}, FINISHED],
    [STARTED, SCOUT, {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "no", "code": MARK}, FINISHED],
    [STARTED, snapshot(role="assistant", content=MARK, name=MARK, toolCalls=[CALL], metadata=MARK, **TAG), FINISHED],
    [STARTED, snapshot(role="assistant", content="a", toolCalls=MARK, encryptedValue=MARK), FINISHED],
    [STARTED, snapshot(role="assistant", toolCalls=[CALL | {"encryptedValue": MARK, "metadata": MARK}]), FINISHED],
    [STARTED, snapshot(role="user", content="a", name=MARK, encryptedValue=MARK), FINISHED],
    [STARTED, snapshot(role="system", content="a", name=MARK), FINISHED],
    [STARTED, snapshot(role="developer", content="a", name=MARK), FINISHED],
    [STARTED, snapshot(role="tool", content="a", toolCallId="c", error=MARK, encryptedValue=MARK), FINISHED],
    [STARTED, snapshot(role="reasoning", content="a", encryptedValue=MARK), FINISHED],
    [STARTED, snapshot(role="activity", activityType="PLAN", content={}, metadata=MARK, **TAG), FINISHED],
    [STARTED, asked({"type": "text", "text": "a", "id": MARK, "metadata": MARK}), FINISHED],
    [
        STARTED,
        asked({"type": "image", "source": {"type": "url", "value": "a", "mimeType": MARK}, "id": MARK}),
        FINISHED,
    ],
    [STARTED, asked({"type": "image", "source": {"type": "file", "value": "a", "provider": MARK}}), FINISHED],
    [echo(tools=MARK, context=MARK, forwardedProps=MARK, resume=MARK, parentRunId=MARK, state=None), FINISHED],
    [echo(tools=[{"name": "look", "description": "", "parameters": MARK, "metadata": MARK}]), FINISHED],
    [echo(resume=[{"interruptId": "i", "status": "resolved", "payload": MARK, "metadata": MARK}]), FINISHED],
    [echo(messages=[{"id": "x", "role": "user", "content": "a", "name": MARK}]), FINISHED],
]


def filled(value: Any, marked: bool) -> Any:
    """A value with null, or nothing, for the marks in it."""
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if marked or item is not MARK}
        return {name: filled(item, marked) for name, item in kept.items()}
    if isinstance(value, list):
        return [filled(item, marked) for item in value]
    return None if value is MARK else value


def repaired(*events: Json, release: str | None = None) -> bytes:
    return rewrite(stream(*events), client=release, filters=[repair])


@pytest.mark.parametrize("marked", NULLS)
def test_optional_members_that_are_null_are_left_out(client: StartClient, marked: list[Json]) -> None:
    wrong, right = filled(marked, True), filled(marked, False)
    assert events_of(repaired(*wrong)) == right
    assert client("1.0.0").read(repaired(*wrong)).accepted
    assert repaired(*right) == stream(*right)


def test_no_client_reads_the_commonest_of_them(client: StartClient) -> None:
    """And all do once it is repaired."""
    text: list[Json] = [TEXT_START | {"timestamp": None}, TEXT_END | {"timestamp": None}]
    events = [STARTED | {"timestamp": None}, *text, FINISHED]
    for release in EVERY_RELEASE:
        assert not client(release).read(stream(*events)).accepted
        end = client(release).read(repaired(*events, release=release))
        assert end.accepted, end.error
        assert end.messages == [{"id": "m", "role": "assistant", "content": ""}]


@pytest.mark.parametrize("release", ["0.0.45", "0.0.58", "1.0.0"])
def test_a_message_of_reasoning_gets_its_role(client: StartClient, release: str) -> None:
    wrong = [STARTED, REASONING_START | {"role": "assistant"}, REASONING_END, FINISHED]
    assert not client(release).read(stream(*wrong)).accepted
    end = client(release).read(repaired(*wrong, release=release))
    assert end.accepted, end.error
    assert [message["role"] for message in end.messages] == ["reasoning"]


@pytest.mark.parametrize(
    "event",
    [
        TEXT_START | {"messageId": None},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": None},
        TEXT_START | {"message_id": None, "role": "tool"},
        snapshot(role="user", content=None),
        snapshot(role="tool", content="a", toolCallId=None),
        snapshot(role=None, content=None, name=None),
        {"type": "STATE_SNAPSHOT", "snapshot": None},
        {"type": "CUSTOM", "name": "x", "value": None},
        {"type": "RAW", "event": None},
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": None},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "metadata": {"x": None}},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": None},
        {"type": "MESSAGES_SNAPSHOT", "messages": None},
        {"type": "MESSAGES_SNAPSHOT", "messages": [None, [None]]},
        {"type": "HOLOGRAM", "timestamp": None},
    ],
)
def test_everything_else_stays_as_it_is(event: Json) -> None:
    assert repaired(event) == stream(event)


def test_a_repair_is_reported_once_an_event_type(caplog: pytest.LogCaptureFixture) -> None:
    text = [TEXT_START | {"timestamp": None}, TEXT_END | {"timestamp": None}]
    repaired(STARTED, *text, *text, REASONING_START | {"role": "assistant", "timestamp": None}, FINISHED)
    reported = [record.getMessage().split(": ")[1] for record in caplog.records]
    assert reported == [
        "null in TEXT_MESSAGE_START",
        "null in TEXT_MESSAGE_END",
        "null in REASONING_MESSAGE_START",
        "role of REASONING_MESSAGE_START",
    ]


def test_what_needs_no_repair_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    repaired(STARTED, {"type": "CUSTOM", "name": "x", "value": None}, REASONING_START, FINISHED)
    assert caplog.records == []


def test_no_route_repairs_unless_it_says_so() -> None:
    assert Route().filters == []
    assert Route(filters=["agui_middleware.filters.repair:repair"]).filters == [repair]
