"""Tests of a filter that awaits: `pytest examples/test_translation.py`."""

from typing import Any

import anyio
import pytest

from agui_middleware.testing import run_filter
from examples.translation import translated

CHUNKS = [
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "It is ol"},
    {"type": "TEXT_MESSAGE_CHUNK", "delta": "der."},
]


async def left_of(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return await run_filter(translated, events)


@pytest.mark.parametrize(
    "end",
    [
        [{"type": "TEXT_MESSAGE_END", "messageId": "m"}],
        [{"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}],
        [{"type": "RUN_ERROR", "message": "no"}],
        [],
    ],
    ids=["its own", "of the run", "a failure", "of the stream"],
)
def test_a_text_is_translated_whole_wherever_it_ends(end: list[dict[str, Any]]) -> None:
    left = anyio.run(left_of, [*CHUNKS, *end])
    assert [event["delta"] for event in left if "delta" in event] == ["It is älter."]
    assert [event["type"] for event in left[-len(end) :]] == [event["type"] for event in end] or not end


def test_texts_that_interleave_are_held_apart_and_an_empty_one_is_left_empty() -> None:
    events = [
        *({"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"} for id in "abc"),
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": id} for id in "abab"),
        *({"type": "TEXT_MESSAGE_END", "messageId": id} for id in "cba"),
    ]
    left = anyio.run(left_of, events)
    assert [(event["messageId"], event["delta"]) for event in left if "delta" in event] == [("b", "bb"), ("a", "aa")]
