"""The table of what `hidden` decides, held against what it does: every type, with a tag and without one."""

from typing import Any

import pytest

from agui_middleware import rewrite
from agui_middleware.filters.hiding import FAILED, OTHER, POLICIES, Decision, Policy
from agui_middleware.filters.subagents import hidden
from agui_middleware.protocol.event import MalformedEvent
from agui_middleware.testing import decode_events, encode_events, run_filter
from tests.notation import Json, stream
from tests.readme import FILTERS, with_policies

LATER: Json = {"type": "LATER", "messageId": "m"}
# For each type: what opens what it is about, and one event of it. Every id in it is that of the opener.
SMALLEST: dict[str, tuple[str, list[Json]]] = {
    "RUN_STARTED": ("", stream("RS r m")),
    "RUN_FINISHED": ("KS c", stream('RF r outcome={"type":"success","pendingToolCallIds":["c"]} result="SECRET"')),
    "RUN_ERROR": ("", stream('RE SECRET code="SECRET"')),
    "STEP_STARTED": ("", stream("STEP+ a")),
    "STEP_FINISHED": ("STEP+ a", stream("STEP- a")),
    "TEXT_MESSAGE_START": ("TS m; TE m", stream("TS m")),
    "TEXT_MESSAGE_CONTENT": ("TS m", stream("TC m x")),
    "TEXT_MESSAGE_END": ("TS m", stream("TE m")),
    "TEXT_MESSAGE_CHUNK": ("TK m a", stream("TK m b")),
    "TOOL_CALL_START": ("KS c; KE c", stream("KS c")),
    "TOOL_CALL_ARGS": ("KS c", stream("KA c x")),
    "TOOL_CALL_END": ("KS c", stream("KE c")),
    "TOOL_CALL_CHUNK": ("KK c a f", stream("KK c b")),
    "TOOL_CALL_RESULT": ("KS c; KE c", stream("KR c t")),
    "REASONING_START": ("SPAN+ g; SPAN- g", stream("SPAN+ g")),
    "REASONING_END": ("SPAN+ g", stream("SPAN- g")),
    "REASONING_MESSAGE_START": ("GS g; GE g", stream("GS g")),
    "REASONING_MESSAGE_CONTENT": ("GS g", stream("GC g x")),
    "REASONING_MESSAGE_END": ("GS g", stream("GE g")),
    "REASONING_MESSAGE_CHUNK": ("GK g a", stream("GK g b")),
    "REASONING_ENCRYPTED_VALUE": ("TS m; TE m", stream("EV message m")),
    "THINKING_START": ("", [{"type": "THINKING_START"}]),
    "THINKING_TEXT_MESSAGE_START": ("", [{"type": "THINKING_TEXT_MESSAGE_START"}]),
    "THINKING_TEXT_MESSAGE_CONTENT": ("", [{"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "x"}]),
    "THINKING_TEXT_MESSAGE_END": ("", [{"type": "THINKING_TEXT_MESSAGE_END"}]),
    "THINKING_END": ("", [{"type": "THINKING_END"}]),
    "STATE_SNAPSHOT": ("", stream("STATE")),
    "STATE_DELTA": ("", stream("PATCH")),
    "MESSAGES_SNAPSHOT": ("", stream("SNAP m")),
    "ACTIVITY_SNAPSHOT": ("AS a", stream("AS a replace=false")),
    "ACTIVITY_DELTA": ("AS a", stream("AD a")),
    "RAW": ("", stream("RAW")),
    "CUSTOM": ("", stream("CUSTOM x")),
    "SUBAGENT_STARTED": ("", stream("SUB+ s")),
    "SUBAGENT_FINISHED": ("", stream("SUB- s")),
    "SUBAGENT_ERROR": ("", stream("SUB! s")),
    "LATER": ("TS m; TE m", [LATER]),
}
EVERY_TYPE = pytest.mark.parametrize("type", SMALLEST)
WITH_SECRETS: Json = {"rawEvent": "SECRET", "metadata": {"x": "SECRET"}, "later": "SECRET", "timestamp": 1}


def policy(type: str) -> Policy:
    return POLICIES.get(type, OTHER)


async def left_of(before: list[Json], event: Json) -> list[Json]:
    """What is left of an event behind others. What opens thinking opens it for every type."""
    return (await run_filter(hidden, [*before, event]))[len(await run_filter(hidden, before)) :]


def opener(type: str, tag: str) -> list[Json]:
    thinking: list[Json] = [{"type": "THINKING_START"}] if type.startswith("THINKING_") else []
    events = [*thinking, *stream(SMALLEST[type][0])]
    return [{**event, "subagentRunId": "s"} if tag else event for event in events]


def test_every_type_has_a_smallest_stream() -> None:
    assert SMALLEST.keys() == {*POLICIES, "LATER"}


@EVERY_TYPE
async def test_one_without_a_tag(type: str) -> None:
    event = SMALLEST[type][1][0]
    lifecycle = type.startswith("SUBAGENT_")
    assert await left_of(opener(type, ""), event) == ([] if lifecycle else [event])
    behind_a_subagents = await left_of(opener(type, "s"), event)
    match policy(type).untagged:
        case Decision.REMOVED | Decision.BY_OPENER | Decision.BY_CALL | Decision.BY_STEP | Decision.BY_THINKING:
            assert behind_a_subagents == []
        case Decision.KEPT:
            assert behind_a_subagents == [event]
        case _:
            assert policy(type).untagged is Decision.EDITED
            assert policy(type).searched
            assert [each["type"] for each in behind_a_subagents] == [type]


@EVERY_TYPE
@pytest.mark.parametrize("tag", ["s", "", 5, ["s"], True])
async def test_one_with_a_tag(type: str, tag: Any) -> None:
    event: Json = {**SMALLEST[type][1][0], **WITH_SECRETS, "subagentRunId": tag}
    nobody, parents, subagents = (
        await left_of([], event),
        await left_of(opener(type, ""), event),
        await left_of(opener(type, "s"), event),
    )
    match policy(type).tagged:
        case Decision.REMOVED:
            assert nobody == parents == subagents == []
        case Decision.LISTED:
            assert len(nobody) == len(parents) == len(subagents) == 1
        case _:
            assert policy(type).tagged is Decision.BY_CALL
            assert (nobody, len(parents), subagents) == ([], 1, [])
    for [left] in filter(None, (nobody, parents, subagents)):
        kept = {"type", *policy(type).listed}
        assert left.keys() == (kept & event.keys()) | ({"subagentRunId"} if not isinstance(tag, str) else set())
        assert left["timestamp"] == 1
        assert "SECRET" not in repr({name: value for name, value in left.items() if name != "metadata"})


async def test_a_null_tag_is_none() -> None:
    """It says nothing, and no client reads it: it is left for the client to reject."""
    for type, (_, [event]) in SMALLEST.items():
        if not type.startswith("SUBAGENT_"):
            odd = {**event, **WITH_SECRETS, "subagentRunId": None}
            assert await left_of(opener(type, ""), odd) == [odd]


# The smallest streams behind the decisions on what the protocol gives no tag.


async def test_an_echo_of_a_subagents_is_taken_out_and_its_messages_are_remembered() -> None:
    events = stream("RS r m @s; TS m; TC m psst; TE m")
    assert await run_filter(hidden, events) == stream("RS r")


async def test_a_snapshot_of_a_subagents_is_removed_and_gives_nothing_to_the_parent() -> None:
    events = stream("TS m; TE m; TS n @s; TE n; SNAP m n o @s; TS m; TE m; TS n; TE n; TS o; TE o")
    assert await run_filter(hidden, events) == stream("TS m; TE m; TS m; TE m")


async def test_an_error_of_a_subagents_ends_the_run_and_says_no_more() -> None:
    [error] = await run_filter(hidden, stream('RE SECRET code="SECRET" usage=[{"inputTokens":1}] @s'))
    assert error == {"type": "RUN_ERROR", "message": FAILED, "usage": [{"inputTokens": 1}]}


async def test_a_result_of_a_run_that_a_subagent_ends_goes_and_its_interrupts_stay() -> None:
    outcome = '{"type":"interrupt","interrupts":[{"id":"i","reason":"approve","subagentRunId":"s"}]}'
    [end] = await run_filter(hidden, stream(f'RF r result="SECRET" outcome={outcome} @s'))
    assert end.keys() == {"type", "threadId", "runId", "outcome"}
    assert end["outcome"]["interrupts"] == [{"id": "i", "reason": "approve"}]


@pytest.mark.parametrize("type", ["RUN_STARTED", "RUN_FINISHED"])
async def test_a_tagged_event_is_searched_like_any_other(type: str) -> None:
    event: Json = {"type": type, "subagentRunId": "s", "input": 5, "result": "SECRET", "outcome": "success"}
    assert await run_filter(hidden, [event]) == [
        {"type": type} if type == "RUN_STARTED" else {"type": type, "outcome": "success"}
    ]


@pytest.mark.parametrize(
    "type", [type for type, row in POLICIES.items() if row.searched and "messages" in row.searched]
)
async def test_what_cannot_be_searched_ends_the_run(type: str) -> None:
    event: Json = {"type": type, "messages": 5, "input": {"messages": 5}}
    with pytest.raises(MalformedEvent):
        await run_filter(hidden, [event])
    assert decode_events(rewrite(encode_events([event]), visibility="hidden"))[-1]["type"] == "RUN_ERROR"


def test_the_page_of_the_room_has_the_table() -> None:
    page = FILTERS.read_text()
    assert page == with_policies(page)
