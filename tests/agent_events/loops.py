"""Runs of an agent loop, and what `to_agui` makes of them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from agui_middleware.agent_events import AgentEvent, Done, Nested, RunOutcome, to_agui
from agui_middleware.agent_events.response import frames

AGUIEvent = dict[str, Any]

FINISHED = Done(outcome=RunOutcome(status="finished"))


async def loop(events: Iterable[AgentEvent]) -> AsyncIterator[AgentEvent]:
    for event in events:
        yield event


def translated(*events: AgentEvent) -> list[AGUIEvent]:
    """The AG-UI events of the run `r1` of the thread `t1`."""

    async def collect() -> list[AGUIEvent]:
        return [event async for event in to_agui(loop(events), thread_id="t1", run_id="r1")]

    return asyncio.run(collect())


def said(*events: AgentEvent) -> list[AGUIEvent]:
    """What `translated` gives for these events alone: without RUN_STARTED, and nothing that Done would close."""
    return translated(*events)[1:]


def stream(events: Iterable[AgentEvent]) -> bytes:
    """The body of the response."""

    async def collect() -> bytes:
        return b"".join([frame async for frame in frames(to_agui(loop(events), thread_id="t1", run_id="r1"))])

    return asyncio.run(collect())


def nest(tool: str, id: str | None, *events: AgentEvent) -> list[AgentEvent]:
    return [Nested(tool=tool, id=id, event=event) for event in events]


def of_type(kind: str, events: Iterable[AGUIEvent]) -> list[AGUIEvent]:
    return [event for event in events if event["type"] == kind]


def types(events: Iterable[AGUIEvent]) -> list[str]:
    return [event["type"] for event in events]
