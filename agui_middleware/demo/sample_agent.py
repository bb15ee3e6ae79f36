"""The agent of the demo: a scripted loop without a model, which asks three subagents in parallel.

The guide asks a subagent of its own, the archivist, and the booking fails: so the page shows parallel, nested and failing
subagents.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing

from agui_middleware.agent_events import (
    AgentEvent,
    AssistantText,
    Done,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    TurnStart,
    TurnUsage,
    Usage,
    merge,
    nested_events,
)

PACE = 0.07
"""Seconds between two words."""

ANSWER = "Take the early tram, see the tiles before noon, and book the fado house by phone."


class Sample:
    """One run of the agent, with a word every `pace` seconds."""

    def __init__(self, pace: float = PACE) -> None:
        self._pace = pace

    async def run(self) -> AsyncIterator[AgentEvent]:
        """The events of the loop."""
        yield TurnStart(turn=1)
        yield ThinkingDelta(text="A day in Lisbon: weather, sights and a table. ")
        yield ThinkingDelta(text="Three colleagues can look at once.")
        async for event in self._say("I ask three colleagues about your day in Lisbon."):
            yield event
        yield ToolCall(id="call-1", name="forecast", input={"city": "Lisbon"})
        yield ToolCall(id="call-2", name="guide", input={"city": "Lisbon", "hours": 8})
        yield ToolCall(id="call-3", name="booking", input={"table": 2})
        yield TurnUsage(usage=Usage(model="sample", input_tokens=140, output_tokens=45))
        colleagues = merge(
            nested_events("forecast", "call-1", self._forecast()),
            nested_events("guide", "call-2", self._guide()),
            nested_events("booking", "call-3", self._booking()),
        )
        async with aclosing(colleagues) as events:
            async for event in events:
                yield event
        yield ToolResult(id="call-1", name="forecast", content="Sun until four, then rain.")
        yield ToolResult(id="call-2", name="guide", content="The tile museum opens at ten.")
        yield ToolResult(id="call-3", name="booking", content="The booking desk is closed.", is_error=True)
        yield TurnStart(turn=2)
        async for event in self._say(ANSWER):
            yield event
        yield Done(outcome=RunOutcome(status="finished", text=ANSWER))

    async def _forecast(self) -> AsyncIterator[AgentEvent]:
        yield TurnStart(turn=1)
        async for event in self._say("Sun until four, then rain."):
            yield event
        yield Done(outcome=RunOutcome(status="finished"))

    async def _guide(self) -> AsyncIterator[AgentEvent]:
        yield TurnStart(turn=1)
        yield ToolCall(id="call-1", name="archive", input={"shelf": "museums"})
        async for event in nested_events("archive", "call-1", self._archive()):
            yield event
        yield ToolResult(id="call-1", name="archive", content="Tile museum: from ten.")
        yield TurnStart(turn=2)
        async for event in self._say("The tile museum opens at ten."):
            yield event
        yield Done(outcome=RunOutcome(status="finished"))

    async def _archive(self) -> AsyncIterator[AgentEvent]:
        async for event in self._say("I look up the opening hours."):
            yield event
        yield Done(outcome=RunOutcome(status="finished"))

    async def _booking(self) -> AsyncIterator[AgentEvent]:
        yield TurnStart(turn=1)
        async for event in self._say("I call the fado house."):
            yield event
        yield Done(outcome=RunOutcome(status="error", error="The booking desk is closed."))

    async def _say(self, text: str) -> AsyncIterator[AgentEvent]:
        for piece in re.findall(r"\S+\s*", text):
            await asyncio.sleep(self._pace)
            yield TextDelta(text=piece)
        yield AssistantText(text=text)
