"""Generated runs through the middleware into real clients, next to what 1.0.0 makes of the original.

`pytest tests/test_generated_runs.py --hypothesis-profile=thorough` draws some thousand runs a property.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from agui_middleware import rewrite
from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.testing import decode_events
from tests.clients.client import RELEASES, Client, Outcome, Run
from tests.downgrades.cases import Case
from tests.downgrades.findings import end_of, is_in_order
from tests.downgrades.projections import End, projected
from tests.downgrades.proof import declared
from tests.strategies import SECRET, Json, plain, runs, untagged, without_subagents

pytestmark = pytest.mark.untraced

StartClient = Callable[[str], Client]

# Every draw with secrets: they change no shape, and every property may then look for them.
secret_runs = runs(secrets=True)


def told(value: object) -> str:
    """As JSON text, since Python takes True for 1."""
    return json.dumps(value, sort_keys=True)


def accepted(outcomes: list[Outcome], streams: list[bytes]) -> None:
    for outcome, stream in zip(outcomes, streams, strict=True):
        note(stream.decode("utf-8", "replace"))
        assert outcome.accepted, outcome.error


def kept(outcome: Outcome) -> tuple[Any, ...]:
    """What neither mode may change beside the messages."""
    return told(outcome.state), outcome.run_error, told(outcome.result), told(untagged(outcome.interrupts))


@given(secret_runs)
def test_1_0_0_reads_what_inline_and_hidden_leave_and_misses_what_they_take_and_nothing_else(
    client: StartClient, events: list[Json]
) -> None:
    original = plain(events)
    streams = [original, rewrite(original, visibility="inline"), rewrite(original, visibility="hidden")]
    outcomes = client("1.0.0").read_many(streams)
    accepted(outcomes, streams)
    whole, inlined, hidden = outcomes
    assert told(inlined.messages) == told(untagged(whole.messages))
    assert told(hidden.messages) == told(without_subagents(whole.messages, events))
    assert kept(whole) == kept(inlined) == kept(hidden)


@given(secret_runs)
def test_0_0_58_reads_what_inline_and_hidden_leave_and_ends_as_its_rows_declare(
    client: StartClient, events: list[Json]
) -> None:
    original = plain(events)
    [whole] = client("1.0.0").read_many([original])
    streams = [rewrite(original, client="0.0.58"), rewrite(original, client="0.0.58", visibility="hidden")]
    outcomes = client("0.0.58").read_many(streams)
    accepted(outcomes, streams)
    differences, case = declared("0.0.58"), Case("drawn", Run(original))
    for outcome, left in zip(
        outcomes, [untagged(whole.messages), without_subagents(whole.messages, events)], strict=True
    ):
        expected = projected(End(left, whole.state, original=True), differences, case)
        end = projected(End(outcome.messages, outcome.state, original=False), differences, case)
        assert told(end.messages) == told(expected.messages)
        assert told(end.state) == told(expected.state)


@given(secret_runs, st.sampled_from([None, "0.0.58", "0.0.59", "1.0.0"]))
def test_nothing_of_a_hidden_subagent_is_in_the_bytes(events: list[Json], release: str | None) -> None:
    """Nothing that a subagent emits lacks the secret, its ids included, and its state never holds it."""
    stream = rewrite(plain(events), client=release, visibility="hidden")
    assert SECRET.encode() not in stream
    for event in decode_events(stream):
        assert "subagentRunId" not in event
        assert not event["type"].startswith("SUBAGENT_")


@given(runs())
def test_inline_leaves_no_attribution_anywhere(events: list[Json]) -> None:
    for event in decode_events(rewrite(plain(events), visibility="inline")):
        carried = [*event.get("messages", ()), *event.get("input", {}).get("messages", ())]
        interrupts = (event.get("outcome") or {}).get("interrupts", ())
        assert not any("subagentRunId" in holder for holder in [event, *carried, *interrupts])
        assert not event["type"].startswith("SUBAGENT_")


@given(runs(), st.sampled_from([None, "current", "1.1.0"]), st.sampled_from(["auto", "attributed"]))
def test_attributed_leaves_every_byte(events: list[Json], release: str | None, visibility: str) -> None:
    original = plain(events)
    assert rewrite(original, client=release, visibility=visibility) == original


@given(runs())
def test_1_0_0_reads_expanded_chunks_as_it_reads_chunks(client: StartClient, events: list[Json]) -> None:
    """Attribution and metadata included: what the middleware expands is what the client itself would."""
    original = plain(events)
    streams = [original, rewrite(original, filters=[expand_chunks])]
    outcomes = client("1.0.0").read_many(streams)
    accepted(outcomes, streams)
    whole, expanded = outcomes
    assert told(expanded.messages) == told(whole.messages)
    assert kept(expanded) == kept(whole)
    assert not any(event["type"].endswith("_CHUNK") for event in decode_events(streams[1]))


@given(runs(), st.sampled_from(["inline", "hidden"]))
def test_what_was_rewritten_is_rewritten_to_itself(events: list[Json], visibility: str) -> None:
    once = rewrite(plain(events), visibility=visibility)
    assert rewrite(once, visibility=visibility) == once


@given(runs(max_moves=20), st.sampled_from(RELEASES), st.sampled_from(["auto", "inline", "hidden"]))
def test_for_any_release_a_run_keeps_its_ids_their_order_and_its_end_and_is_rewritten_to_itself(
    events: list[Json], release: str, visibility: str
) -> None:
    case = Case("drawn", Run(plain(events)))
    once = rewrite(case.run.stream, client=release, visibility=visibility)
    assert rewrite(once, client=release, visibility=visibility) == once
    assert is_in_order(case, once, release)
    assert end_of(decode_events(once)) == end_of(events)


@given(runs(), st.sampled_from(["inline", "hidden"]))
def test_what_stays_keeps_its_order_its_ids_and_its_last_terminal_event(events: list[Json], visibility: str) -> None:
    left = decode_events(rewrite(plain(events), visibility=visibility))
    rest = iter(events)
    for event in left:
        assert any(event["type"] == original["type"] and _same(event, original) for original in rest)
    assert left[-1]["type"] == events[-1]["type"]
    assert {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"} >= {event["type"] for event in left[:1] + left[-1:]}


def _same(event: Json, original: Json) -> bool:
    """Whether nothing was changed but what may be: attribution, ids that were filled in, and messages taken out."""
    filled = {"messageId", "toolCallId", "toolCallName", "parentMessageId", "role", "name"}
    searched = {"subagentRunId", "messages", "input", "outcome"}
    members = {
        name: value
        for name, value in event.items()
        if name not in searched and (name in original or name not in filled)
    }
    return members == {name: value for name, value in original.items() if name not in searched}


# The smallest inputs of faults that the properties have found.


def test_a_result_that_a_subagent_gave_is_the_parents_again_in_a_snapshot(client: StartClient) -> None:
    """The call was forgotten with its first answer, so the snapshot's tool message went with its tag."""
    events: list[Json] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "search"},
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "a", "subagentRunId": "s"},
        {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [
                {
                    "id": "c",
                    "role": "assistant",
                    "toolCalls": [{"id": "c", "type": "function", "function": {"name": "search", "arguments": ""}}],
                },
                {"id": "t", "role": "tool", "toolCallId": "c", "content": "a", "subagentRunId": "s"},
            ],
        },
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    whole, hidden = client("1.0.0").read_many([plain(events), rewrite(plain(events), visibility="hidden")])
    assert hidden.messages == untagged(whole.messages)
    assert [message["id"] for message in hidden.messages] == ["c", "t"]
