"""A tool's result as the run's state."""

from typing import Any

import pytest

from agui_middleware import rewrite
from agui_middleware.filters.promote import promote_results
from agui_middleware.testing import decode_events, encode_events, run_filter
from tests.notation import Json, stream

PLAN = promote_results(["search"], path="/plan")


def results(content: Any, call: str = "c", **members: Any) -> list[Json]:
    return [{"type": "TOOL_CALL_RESULT", "toolCallId": call, "messageId": "t", "content": content, **members}]


def patches(value: Any, **members: Any) -> list[Json]:
    return [{"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/plan", "value": value}], **members}]


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('{"steps": [1, 2.50]}', {"steps": [1, 2.5]}),
        ("found", "found"),
        ("", ""),
        ("true", True),
        ("NaN", "NaN"),
        ("\ud83d", "\ud83d"),
        ('{"a":\n1}', {"a": 1}),
        ([{"type": "text", "text": "found"}], [{"type": "text", "text": "found"}]),
    ],
)
async def test_the_result_of_a_tool_goes_into_the_state_behind_it(content: Any, value: Any) -> None:
    events = [*stream("KS c; KE c"), *results(content)]
    assert decode_events(rewrite(encode_events(events), filters=[PLAN])) == [*events, *patches(value)]


async def test_numbers_keep_their_digits() -> None:
    content = '{"n": 12345678901234567890123, "x": 1.0}'
    stream_ = rewrite(encode_events([*stream("KS c; KE c"), *results(content)]), filters=[PLAN])
    assert content.encode() in stream_.replace(b'\\"', b"")


async def test_without_a_path_it_is_the_state() -> None:
    events = [*stream("KS c; KE c"), *results('{"a":1}')]
    out = decode_events(rewrite(encode_events(events), filters=[promote_results(["search"])]))
    assert out == [*events, {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}]


@pytest.mark.parametrize(
    "opened",
    [
        "KK c {} search; KK _ {}",
        "SNAP m+c",
        "RS r m+c",
    ],
)
async def test_a_call_is_known_by_whatever_names_it(opened: str) -> None:
    events = [*stream(opened), *results("x")]
    assert await run_filter(PLAN, events) == [*events, *patches("x")]


@pytest.mark.parametrize("malformed", ["x", {"id": "d"}, {"id": "d", "function": "search"}])
async def test_a_call_without_a_function_does_not_hide_the_one_behind_it(malformed: Any) -> None:
    [snapshot] = stream("SNAP m+c")
    snapshot["messages"][0]["toolCalls"].insert(0, malformed)
    events = [snapshot, *results("x", "d"), *results("x")]
    assert await run_filter(PLAN, events) == [*events, *patches("x")]


async def test_other_results_stay_results() -> None:
    events = [*stream('KS c toolCallName="other"; KE c'), *results("x"), *results("x", "unknown")]
    assert await run_filter(PLAN, events) == events


async def test_what_a_subagent_called_is_not_shared_unless_asked_for() -> None:
    events = [*stream("KS c @s; KE c"), *results("x")]
    assert await run_filter(PLAN, events) == events
    assert await run_filter(promote_results(["search"], path="/plan", subagents=True), events) == [
        *events,
        *patches("x"),
    ]


async def test_the_state_carries_the_tag_of_the_result() -> None:
    """An untagged event would close the parent's chunks."""
    events = [*stream("KS c; KE c; TK m a"), *results("x", subagentRunId="s"), *stream("TK _ b")]
    assert await run_filter(PLAN, events) == [*events[:-1], *patches("x", subagentRunId="s"), events[-1]]


@pytest.mark.parametrize("path", ["", "plan", "/a~2"])
def test_a_path_is_a_pointer(path: str) -> None:
    with pytest.raises(ValueError, match="JSON pointer"):
        promote_results(["search"], path=path)


@pytest.mark.parametrize("tools", ["search", [5]])
def test_tools_are_a_list_of_names(tools: Any) -> None:
    with pytest.raises(TypeError, match="a list of names"):
        promote_results(tools)


@pytest.mark.parametrize("id", ["_", "m"])
def test_a_subagents_chunk_without_an_id_owns_nothing_of_the_parents(id: str) -> None:
    events = [*stream(f"TK m a @s; TK {id} b @s; KS c; KE c"), *results("found")]
    assert decode_events(rewrite(encode_events(events), filters=[PLAN])) == [*events, *patches("found")]


def test_whether_subagents_results_are_promoted_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="subagents is true or false"):
        promote_results(["search"], subagents="no")  # type: ignore[arg-type]  # what the test is about
