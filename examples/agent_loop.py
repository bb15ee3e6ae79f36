"""An agent loop with no framework, and no model, behind it: it delegates to two researchers at once.

The one for Rome asks an archivist of its own, the one for Oslo fails. `python examples/agent_loop.py` serves the run with
all of that at /agent, and without what the researchers do at /public.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing

import uvicorn
from ag_ui.core import RunAgentInput
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route as Endpoint

from agui_middleware import AGUIMiddleware, Route, Settings
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
    agent_endpoint,
    merge,
    nested_events,
)

PACE = 0.05
"""Seconds between two words."""


async def agent(request: RunAgentInput) -> AsyncIterator[AgentEvent]:
    yield TurnStart(turn=1)
    yield ThinkingDelta(text="Two cities, two researchers.")
    async for event in say("I ask two researchers."):
        yield event
    yield ToolCall(id="call-1", name="research", input={"city": "Rome"})
    yield ToolCall(id="call-2", name="research", input={"city": "Oslo"})
    yield TurnUsage(usage=Usage(model="example", input_tokens=120, output_tokens=30))
    researchers = merge(nested_events("research", "call-1", rome()), nested_events("research", "call-2", oslo()))
    async with aclosing(researchers) as events:
        async for event in events:
            yield event
    yield ToolResult(id="call-1", name="research", content="Rome: 753 BC.")
    yield ToolResult(id="call-2", name="research", content="The archive of Oslo is closed.", is_error=True)
    answer = "Rome is from 753 BC; of Oslo I could learn nothing."
    yield TurnStart(turn=2)
    async for event in say(answer):
        yield event
    yield Done(outcome=RunOutcome(status="finished", text=answer))


async def rome() -> AsyncIterator[AgentEvent]:
    yield TurnStart(turn=1)
    yield ToolCall(id="call-1", name="archive", input={"shelf": "Livy"})
    async for event in nested_events("archive", "call-1", livy()):
        yield event
    yield ToolResult(id="call-1", name="archive", content="Livy says 753 BC.")
    yield TurnStart(turn=2)
    async for event in say("Rome: 753 BC."):
        yield event
    usage = Usage(model="example", input_tokens=80, output_tokens=10)
    yield Done(outcome=RunOutcome(status="finished", text="Rome: 753 BC.", usage=usage))


async def livy() -> AsyncIterator[AgentEvent]:
    async for event in say("I read Livy, who says 753 BC."):
        yield event
    yield Done(outcome=RunOutcome(status="finished"))


async def oslo() -> AsyncIterator[AgentEvent]:
    yield TurnStart(turn=1)
    async for event in say("I look for Oslo."):
        yield event
    yield Done(outcome=RunOutcome(status="error", error="The archive of Oslo is closed."))


async def say(text: str) -> AsyncIterator[AgentEvent]:
    """What a model's streaming interface would do."""
    for piece in re.findall(r"\S+\s*", text):
        await asyncio.sleep(PACE)
        yield TextDelta(text=piece)
    yield AssistantText(text=text)


app = Starlette(
    routes=[Endpoint(path, agent_endpoint(agent), methods=["POST"]) for path in ("/agent", "/public")],
    middleware=[
        Middleware(
            AGUIMiddleware, settings=Settings(routes=[Route(path="/public", visibility="hidden"), Route(path="/agent")])
        )
    ],
)

if __name__ == "__main__":
    uvicorn.run(app)
