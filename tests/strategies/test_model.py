"""What the model says of owners holds for every drawn run, and in the cases that are easily got wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from tests.strategies import (
    SECRET,
    InvalidStream,
    Json,
    Owners,
    batch,
    hidden,
    inlined,
    owners,
    read,
    runs,
    untagged,
    without_subagents,
)
from tests.strategies.reader.lanes import Lanes
from tests.strategies.reference import owner_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.generator
EXAMPLES = 80
START: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISH: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
OPAQUE = {
    *("messageId", "toolCallId", "subagentRunId", "name", "toolCallName", "content", "delta", "encryptedValue"),
    *("activityType", "stepName", "source", "event", "value", "description", "result", "message", "code"),
    *("metadata", "rawEvent"),
}


@settings(max_examples=EXAMPLES, deadline=None)
@given(runs())
def test_model_tells_what_hiding_leaves(events: list[Json]) -> None:
    messages, state = read(events)
    assert read(hidden(events)) == (without_subagents(messages, events), state)


@settings(max_examples=EXAMPLES, deadline=None)
@given(runs())
def test_model_tells_what_inlining_leaves(events: list[Json]) -> None:
    messages, state = read(events)
    assert read(inlined(events)) == (untagged(messages), state)


@settings(max_examples=EXAMPLES, deadline=None)
@given(runs(secrets=True))
def test_secrets_are_in_what_hiding_removes_and_nowhere_else(events: list[Json]) -> None:
    known = owners(events)
    assert SECRET not in json.dumps(hidden(events))
    lanes = Lanes()
    for event in (expanded for origin in events for expanded in lanes.expand(origin)):
        if event["type"].startswith("SUBAGENT") or owner_of(known, event) is not None:
            told = {member: event[member] for member in OPAQUE & event.keys() if event[member] not in ("", [])}
            assert all(SECRET in json.dumps(value) for value in told.values()), event
        for message in [*event.get("messages", ()), *event.get("input", {}).get("messages", ())]:
            told = untagged([message])[0]
            assert (SECRET in json.dumps(told)) == (known.of_message(message) is not None), message


def by_tag(known: Owners, event: Json) -> str | None:
    return None if event["type"].startswith("STATE") else event.get("subagentRunId")


def results_by_sender(known: Owners, event: Json) -> str | None:
    return by_tag(known, event) if event["type"] == "TOOL_CALL_RESULT" else owner_of(known, event)


def activities_by_tag(known: Owners, event: Json) -> str | None:
    return by_tag(known, event) if event["type"].startswith("ACTIVITY") else owner_of(known, event)


def one_namespace(known: Owners, event: Json) -> str | None:
    """Ids of all kinds in one map, where a subagent's wins over the parent's."""
    kinds = (known.activity, known.reasoning, known.message, known.tool)
    every = {id_ for ids in kinds for id_ in ids}
    ids = {id_: next((ids[id_] for ids in kinds if ids.get(id_) is not None), None) for id_ in every}
    return owner_of(Owners(ids, ids, ids, ids), event)


@pytest.fixture(scope="module")
def drawn() -> list[list[Json]]:
    return batch(runs(), 2 * EXAMPLES)


@pytest.mark.parametrize("judge", [by_tag, results_by_sender, activities_by_tag, one_namespace])
def test_runs_expose_a_filter_that_misjudges(
    drawn: list[list[Json]], judge: Callable[[Owners, Json], str | None]
) -> None:
    """Some run ends otherwise, or breaks off, when subagents are told by less than all rules."""
    assert any(misled(events, judge) for events in drawn)


def misled(events: list[Json], judge: Callable[[Owners, Json], str | None]) -> bool:
    messages, state = read(events)
    try:
        return read(hidden(events, judge)) != (without_subagents(messages, events), state)
    except InvalidStream:
        return True


def call(call_id: str, **members: str) -> list[Json]:
    """A tool call from START to END."""
    start = {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": "ask", **members}
    return [start, {"type": "TOOL_CALL_END", "toolCallId": call_id}]


def result(call_id: str, **members: str) -> Json:
    return {
        "type": "TOOL_CALL_RESULT",
        "messageId": f"{call_id}-result",
        "toolCallId": call_id,
        "content": "",
        **members,
    }


def test_model_leaves_a_subagents_answer_to_the_parents_call() -> None:
    events = [START, *call("c"), result("c", subagentRunId="s"), FINISH]
    messages, _ = read(events)
    assert [message["id"] for message in messages] == ["c", "c-result"]
    assert without_subagents(messages, events) == untagged(messages) != messages


def test_model_removes_the_parents_answer_to_a_subagents_call() -> None:
    events = [START, *call("c", subagentRunId="s"), result("c"), FINISH]
    messages, _ = read(events)
    assert [message["id"] for message in messages] == ["c", "c-result"]
    assert without_subagents(messages, events) == []


def test_model_takes_a_subagents_call_out_of_a_message_that_anothers_minted() -> None:
    foreign = call("c2", parentMessageId="m", subagentRunId="s")
    events = [START, *call("c1", parentMessageId="m"), *foreign, FINISH]
    (message,), _ = read(events)
    assert [held["id"] for held in message["toolCalls"]] == ["c1", "c2"]
    (left,) = without_subagents([message], events)
    assert [held["id"] for held in left["toolCalls"]] == ["c1"]


def test_model_removes_an_untagged_message_that_a_subagents_call_minted() -> None:
    """The call inherits its owner from a user message, which cannot carry it; the message it mints has no tag."""
    text = {"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user", "subagentRunId": "s"}
    events = [START, text, {"type": "TEXT_MESSAGE_END", "messageId": "u"}, *call("c", parentMessageId="u"), FINISH]
    messages, _ = read(events)
    assert "subagentRunId" not in messages[1]
    assert without_subagents(messages, events) == []


def test_model_removes_the_untagged_message_of_a_tagged_span() -> None:
    """A span and the reasoning message of its id share one owner, whatever the message's own opener says."""
    span = {"type": "REASONING_START", "messageId": "r", "subagentRunId": "s"}
    message = {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}
    ends = [{"type": "REASONING_MESSAGE_END", "messageId": "r"}, {"type": "REASONING_END", "messageId": "r"}]
    events = [START, span, message, *ends, FINISH]
    messages, _ = read(events)
    assert untagged(messages) == messages != []
    assert without_subagents(messages, events) == []


def test_model_gives_a_call_without_a_parent_to_nobodys_message() -> None:
    """The empty string is an id like any other, and not what an absent parent means."""
    text = {"type": "TEXT_MESSAGE_START", "messageId": "", "subagentRunId": "s"}
    events = [START, text, {"type": "TEXT_MESSAGE_END", "messageId": ""}, *call("c"), FINISH]
    messages, _ = read(events)
    assert [message["id"] for message in without_subagents(messages, events)] == ["c"]
