"""The strategies draw what they promise: valid streams, all of the protocol, and the truth about who owns what."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from ag_ui.core import EventType
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from tests.strategies import (
    SECRET,
    SHAPES,
    InvalidStream,
    Json,
    Owners,
    cuts,
    features,
    owners,
    plain,
    read,
    runs,
    streams,
    untagged,
    without_subagents,
)
from tests.strategies.features import SITUATIONS
from tests.strategies.reader.lanes import Lanes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.client import Client, Outcome

EXAMPLES = 300
OPENER: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
VARIANTS: dict[str, Json] = {
    "all": {},
    "secrets": {"secrets": True},
    "reown": {"reown": True},
    "explicit": {"chunks": False},
    "parent only": {"subagents": False},
}


def drawn(strategy: st.SearchStrategy[Any], count: int = EXAMPLES) -> list[Any]:
    """The same examples each time, in one list, so that one process of a client reads them all in a row."""
    examples: list[Any] = []

    @settings(max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def collect(example: Any) -> None:
        examples.append(example)

    collect()
    return examples


def canonical(value: Any) -> Any:
    """The value after a round through JavaScript: numbers are doubles, halves of a pair that meet are one character."""
    match value:
        case bool() | None:
            return value
        case int() | float():
            return ("number", float(value))
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        case list():
            return [canonical(item) for item in value]
        case dict():
            return {canonical(name): canonical(member) for name, member in value.items()}
    raise TypeError(value)


def agree(outcome: Outcome, events: list[Json]) -> bool:
    messages, state = read(events)
    return bool(canonical([outcome.messages, outcome.state]) == canonical([messages, state]))


# The real client.


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_are_accepted_and_end_as_the_reader_says(client: Callable[[str], Client], variant: str) -> None:
    examples = drawn(runs(**VARIANTS[variant]))
    outcomes = client("1.0.0").read_many([plain(events) for events in examples])
    for events, outcome in zip(examples, outcomes, strict=True):
        assert outcome.accepted, (outcome.error, events)
        assert agree(outcome, events), events


@st.composite
def damaged(draw: st.DrawFn) -> list[Json]:
    """A run with one event lost, repeated, moved or given to another owner."""
    events: list[Json] = draw(runs(max_moves=15))
    place = draw(st.integers(0, len(events) - 1))
    event = events[place]
    match draw(st.sampled_from(("lost", "repeated", "moved", "retagged"))):
        case "lost":
            return events[:place] + events[place + 1 :]
        case "repeated":
            return [*events[: place + 1], event, *events[place + 1 :]]
        case "moved":
            rest = events[:place] + events[place + 1 :]
            return [*rest[: place + 1], event, *rest[place + 1 :]]
    tag = draw(st.sampled_from(["s1", "s2", "other"]))
    return [*events[:place], event | {"subagentRunId": tag}, *events[place + 1 :]]


def test_reader_refuses_what_the_client_refuses(client: Callable[[str], Client]) -> None:
    examples = [events for events in drawn(damaged(), 2 * EXAMPLES) if events]
    outcomes = client("1.0.0").read_many([plain(events) for events in examples])
    verdicts: Counter[bool] = Counter()
    for events, outcome in zip(examples, outcomes, strict=True):
        try:
            accepted = agree(outcome, events)
            assert accepted, events
        except InvalidStream:
            accepted = False
        except KeyError:  # SUBAGENT_* without its id, which no rule of the reader is about
            continue
        assert outcome.accepted == accepted, (outcome.error, events)
        verdicts[accepted] += 1
    assert min(verdicts[True], verdicts[False]) > EXAMPLES / 4


@pytest.mark.parametrize("release", ["0.0.27", "0.0.58", "1.0.0"])
def test_streams_in_lf_are_read_by_every_client(client: Callable[[str], Client], release: str) -> None:
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "é\u2028\ud83d😀\ndata: x\n\n"}
    opener = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    events = [OPENER, opener, text, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, END]
    expected = client(release).read(plain(events))
    assert expected.messages[0]["content"] == text["delta"]
    for outcome in client(release).read_many(drawn(streams(events, lf_only=True), 100)):
        assert outcome.ends_like(expected)


# What is drawn.


def test_runs_draw_every_event_type_shape_and_situation() -> None:
    found: Counter[str] = Counter()
    examples = drawn(runs(), 2 * EXAMPLES)
    for events in examples:
        found.update(features(events))
    expected = SHAPES | SITUATIONS | {type_.value for type_ in EventType}
    rare = {name: found[name] for name in expected if found[name] < len(examples) / 200}
    assert not rare
    assert not {name for name in found if name not in expected}
    lengths = sorted(len(events) for events in examples)
    assert lengths[len(lengths) // 2] > 20


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_runs_without_a_shape_do_not_show_it(data: st.DataObject) -> None:
    without = data.draw(st.sets(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=8))
    events = data.draw(runs(without=without))
    assert not features(events) & without


def test_runs_refuse_an_unknown_shape() -> None:
    with pytest.raises(ValueError, match=r"no such shapes: .*chunk"):
        runs(without=["chunk"])  # type: ignore[list-item]


def test_runs_refuse_secrets_that_change_hands() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        runs(secrets=True, reown=True)


@pytest.mark.parametrize(
    ("situation", "length"),
    [
        ("a subagent's call answered by the parent", 5),
        ("parallel lanes of one kind", 4),
    ],
)
def test_runs_shrink_to_the_situation(situation: str, length: int) -> None:
    quietly = settings(max_examples=2000, database=None, deadline=None, derandomize=True)
    smallest = find(runs(), lambda events: situation in features(events), settings=quietly)
    assert len(smallest) <= length


# Who owns what.


def hidden(events: list[Json]) -> list[Json]:
    """The plainest filter that hides subagents: expanded, with all of the stream known beforehand."""
    known, lanes = owners(events), Lanes()
    shown = [event for origin in events for event in lanes.expand(origin) if _owner(known, event) is None]
    return [_relisted(event, lambda messages: without_subagents(messages, events)) for event in untagged(shown)]


def inlined(events: list[Json]) -> list[Json]:
    """The plainest filter that inlines subagents."""
    lanes = Lanes()
    shown = [event for origin in events for event in lanes.expand(origin) if not _is_lifecycle(event)]
    return [_relisted(event, untagged) for event in untagged(shown)]


def _is_lifecycle(event: Json) -> bool:
    return event["type"].startswith("SUBAGENT") or (event["type"].startswith("STEP") and "subagentRunId" in event)


def _owner(known: Owners, event: Json) -> str | None:
    tag: str | None = event.get("subagentRunId")
    match event:
        case {"type": "STATE_SNAPSHOT" | "STATE_DELTA"}:
            return None
        case {"toolCallId": str() as call} | {"subtype": "tool-call", "entityId": str() as call}:
            return known.tool.get(call, tag)
        case {"type": str() as type_, "messageId": str() as message}:
            kinds = {"REASONING": known.reasoning, "ACTIVITY_": known.activity, "TEXT_MESS": known.message}
            return kinds[type_[:9]][message]
        case {"entityId": str() as entity}:
            return known.message.get(entity, known.reasoning.get(entity, tag))
    return tag


def _relisted(event: Json, rewrite: Callable[[list[Json]], list[Json]]) -> Json:
    match event:
        case {"messages": messages}:
            return event | {"messages": rewrite(messages)}
        case {"input": {"messages": messages} as echo}:
            return event | {"input": echo | {"messages": rewrite(messages)}}
    return event


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


OPAQUE = [
    "messageId",
    "toolCallId",
    "subagentRunId",
    "name",
    "toolCallName",
    "content",
    "delta",
    "encryptedValue",
    "activityType",
    "stepName",
    "source",
    "event",
    "value",
    "description",
    "result",
    "message",
    "code",
    "metadata",
    "rawEvent",
]


@settings(max_examples=EXAMPLES, deadline=None)
@given(runs(secrets=True))
def test_secrets_are_in_what_hiding_removes_and_nowhere_else(events: list[Json]) -> None:
    known = owners(events)
    assert SECRET not in json.dumps([event for event in hidden(events) if "outcome" not in event])
    for event in events:
        hiding = event["type"].startswith("SUBAGENT") or _owner(known, event) is not None
        for member in set(OPAQUE) & event.keys():
            value = event[member]
            if hiding and value not in ("", []):
                assert SECRET in json.dumps(value), (member, event)
        for message in [*event.get("messages", ()), *event.get("input", {}).get("messages", ())]:
            (told,) = untagged([message])
            assert (SECRET in json.dumps(told)) == (known.of_message(message) is not None), message
        interrupts = event.get("outcome", {}).get("interrupts", ())
        assert SECRET not in json.dumps(untagged(interrupts))


def test_model_leaves_the_answer_to_the_parents_call() -> None:
    """A subagent executes the parent's call: the answer stays, without its tag."""
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "task"}
    answer = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "ok", "subagentRunId": "s"}
    events = [OPENER, call, {"type": "TOOL_CALL_END", "toolCallId": "c"}, answer, END]
    messages, _ = read(events)
    assert [m["id"] for m in messages] == ["c", "t"]
    assert without_subagents(messages, events) == untagged(messages)


def test_model_removes_the_parents_answer_to_a_subagents_call() -> None:
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "ask", "subagentRunId": "s"}
    answer = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "ok"}
    events = [OPENER, call, {"type": "TOOL_CALL_END", "toolCallId": "c"}, answer, END]
    messages, _ = read(events)
    assert [m["id"] for m in messages] == ["c", "t"]
    assert without_subagents(messages, events) == []


def test_model_takes_a_subagents_call_out_of_a_message_that_anothers_minted() -> None:
    own = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "task", "parentMessageId": "m"}
    foreign = own | {"toolCallId": "c2", "subagentRunId": "s"}
    ends = [{"type": "TOOL_CALL_END", "toolCallId": call} for call in ("c1", "c2")]
    events = [OPENER, own, foreign, *ends, END]
    (message,), _ = read(events)
    assert [call["id"] for call in message["toolCalls"]] == ["c1", "c2"]
    (left,) = without_subagents([message], events)
    assert [call["id"] for call in left["toolCalls"]] == ["c1"]


def test_model_removes_an_untagged_message_that_a_subagents_call_minted() -> None:
    """The call inherits its owner from a user message, which cannot carry it; the message it mints has no tag."""
    text = {"type": "TEXT_MESSAGE_START", "messageId": "u", "role": "user", "subagentRunId": "s"}
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "ask", "parentMessageId": "u"}
    ends = [{"type": "TEXT_MESSAGE_END", "messageId": "u"}, {"type": "TOOL_CALL_END", "toolCallId": "c"}]
    events = [OPENER, text, call, *ends, END]
    messages, _ = read(events)
    assert "subagentRunId" not in messages[1]
    assert without_subagents(messages, events) == []


def test_model_hides_the_untagged_message_of_a_tagged_span() -> None:
    """A span and the reasoning message of its id share one owner, whatever the message's own opener says."""
    span = {"type": "REASONING_START", "messageId": "r", "subagentRunId": "s"}
    message = {"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}
    ends = [{"type": "REASONING_MESSAGE_END", "messageId": "r"}, {"type": "REASONING_END", "messageId": "r"}]
    events = [OPENER, span, message, *ends, END]
    messages, _ = read(events)
    assert untagged(messages) == messages
    assert without_subagents(messages, events) == []


# The bytes.


def frames(data: bytes) -> list[Any]:
    """What a decoder by the book gets, the last frame too where its blank line is missing."""
    lines = re.split("\r\n|\n|\r", data.decode().removeprefix("\ufeff"))
    found, gathered = [], list[str]()
    for line in [*lines, ""]:
        if line.startswith("data:"):
            gathered.append(line[5:].removeprefix(" "))
        elif not line and gathered:
            found.append(json.loads("\n".join(gathered)))
            gathered = []
    return found


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_streams_say_the_same_in_other_bytes(data: st.DataObject) -> None:
    events = data.draw(runs(max_moves=10))
    assert canonical(frames(data.draw(streams(events)))) == canonical(events)


def test_streams_draw_every_framing() -> None:
    examples = drawn(streams([OPENER, END]), 200)
    for mark in (
        rb"\A\xef\xbb\xbf",
        rb"(?m)^data: ",
        rb"(?m)^data:[^ ]",
        rb"(^|[\r\n]):",
        rb"[\r\n]retry",
        rb"\r\n\r\n",
    ):
        assert any(re.search(mark, example) for example in examples), mark
    assert any(re.search(rb"\r\r", example) and b"\n" not in example for example in examples)
    assert any(not example.endswith((b"\n", b"\r")) for example in examples)


@given(st.binary(max_size=64), st.data())
def test_cuts_lose_nothing(stream: bytes, data: st.DataObject) -> None:
    assert b"".join(data.draw(cuts(stream))) == stream


def test_cuts_reach_every_place() -> None:
    examples = drawn(cuts(b"ab\r\ncd"), 200)
    places = {sum(map(len, pieces[:index])) for pieces in examples for index in range(len(pieces))}
    assert places == set(range(7))
    assert any(pieces == [b"a", b"b", b"\r", b"\n", b"c", b"d"] for pieces in examples)
    assert any(b"" in pieces for pieces in examples)
