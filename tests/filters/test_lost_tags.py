"""Steps and thinking of subagents stay hidden where a filter of the route has taken off the tags that tell them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_middleware import Context, Event, rewrite
from tests.downgrades.cases import events_of, stream

Json = dict[str, Any]
SUB: Json = {"subagentRunId": "s"}


async def without_tags(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event.without("subagentRunId")


async def unchanged(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event


def step(kind: str, name: str = "x", **members: Any) -> Json:
    return {"type": f"STEP_{kind}", "stepName": name, **members}


def thought(kind: str, **members: Any) -> Json:
    return {"type": f"THINKING_{kind}", **members}


def shown(filter: Any, *events: Json) -> list[Json]:
    return [
        dict(event)
        for event in events_of(rewrite(b"".join(map(stream, events)), visibility="hidden", filters=[filter]))
    ]


OWN_STEP = [step("STARTED", value="parent"), step("FINISHED", value="parent")]
STREAMS: dict[str, tuple[list[Json], list[Json]]] = {
    "a step": ([step("STARTED", **SUB), step("FINISHED", **SUB)], []),
    "a step inside one of the parent's of the same name": (
        [OWN_STEP[0], step("STARTED", **SUB), step("FINISHED", **SUB), OWN_STEP[1]],
        OWN_STEP,
    ),
    "a step around one of the parent's": (
        [step("STARTED", **SUB), *OWN_STEP, step("FINISHED", **SUB)],
        OWN_STEP,
    ),
    "a step whose end has no tag anyway": ([step("STARTED", **SUB), step("FINISHED")], []),
    "a step of another name": ([step("STARTED", "y", **SUB), *OWN_STEP, step("FINISHED", "y", **SUB)], OWN_STEP),
    "the parent's, again and again": ([*OWN_STEP, *OWN_STEP], [*OWN_STEP, *OWN_STEP]),
    "thinking": (
        [
            thought("START", **SUB),
            thought("TEXT_MESSAGE_START", **SUB),
            thought("TEXT_MESSAGE_CONTENT", delta="secret"),
            thought("TEXT_MESSAGE_END"),
            thought("END", **SUB),
        ],
        [],
    ),
    "thinking, and then the parent's": (
        [thought("START", **SUB), thought("END", **SUB), thought("START"), thought("END")],
        [thought("START"), thought("END")],
    ),
}


@pytest.mark.parametrize("filter", [without_tags, unchanged])
@pytest.mark.parametrize("name", STREAMS)
def test_what_a_subagent_sent_stays_hidden(name: str, filter: Any) -> None:
    events, left = STREAMS[name]
    assert shown(filter, *events) == left


async def renaming(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    async for event in events:
        yield event.replace(stepName="new") if "stepName" in event else event
    yield Event(type="STEP_STARTED", stepName="made up")


def test_a_filter_may_rename_steps_and_make_some_up() -> None:
    assert shown(renaming, *OWN_STEP) == [
        OWN_STEP[0] | {"stepName": "new"},
        OWN_STEP[1] | {"stepName": "new"},
        step("STARTED", "made up"),
    ]
