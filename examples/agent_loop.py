"""An agent loop with no framework, and no model, behind it: it delegates to two children at once.

The researcher asks an archivist of its own, the reviewer fails. `python examples/agent_loop.py` serves the run to
everybody at /agent, and without what the children do at /public.
"""

import asyncio
import re
from collections.abc import AsyncIterator

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
    Nested,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    TurnStart,
    TurnUsage,
    Usage,
    agent_endpoint,
)

PACE = 0.2
"""Seconds between two words."""


async def agent(request: RunAgentInput) -> AsyncIterator[AgentEvent]:
    yield TurnStart(turn=1)
    yield ThinkingDelta(text="Two questions, two colleagues.")
    async for event in say("I ask two colleagues."):
        yield event
    yield ToolCall(id="call-1", name="research", input={"topic": "tides"})
    yield ToolCall(id="call-2", name="review", input={"draft": "tides.md"})
    yield TurnUsage(usage=Usage(model="none", input_tokens=120, output_tokens=30))
    async for event in together(inside("research", "call-1", researcher()), inside("review", "call-2", reviewer())):
        yield event
    yield ToolResult(id="call-1", name="research", content="Twice a day.")
    yield ToolResult(id="call-2", name="review", content="The reviewer is away.", is_error=True)
    yield TurnStart(turn=2)
    async for event in say("The tide comes twice a day."):
        yield event
    yield Done(outcome=RunOutcome(status="finished", text="The tide comes twice a day."))


async def researcher() -> AsyncIterator[AgentEvent]:
    yield TurnStart(turn=1)
    yield ToolCall(id="call-1", name="archive", input={"shelf": 7})
    async for event in inside("archive", "call-1", archivist()):
        yield event
    yield ToolResult(id="call-1", name="archive", content="Shelf 7, page 12.")
    yield TurnStart(turn=2)
    async for event in say("Twice a day."):
        yield event
    usage = Usage(model="none", input_tokens=80, output_tokens=10)
    yield Done(outcome=RunOutcome(status="finished", text="Twice a day.", usage=usage))


async def archivist() -> AsyncIterator[AgentEvent]:
    async for event in say("Shelf 7, page 12."):
        yield event
    yield Done(outcome=RunOutcome(status="finished"))


async def reviewer() -> AsyncIterator[AgentEvent]:
    yield TurnStart(turn=1)
    async for event in say("Let me see."):
        yield event
    yield Done(outcome=RunOutcome(status="error", error="The reviewer is away."))


async def say(text: str) -> AsyncIterator[AgentEvent]:
    """What a model's streaming interface would do."""
    for piece in re.findall(r"\S+\s*", text):
        await asyncio.sleep(PACE)
        yield TextDelta(text=piece)
    yield AssistantText(text=text)


async def inside(tool: str, id: str, events: AsyncIterator[AgentEvent]) -> AsyncIterator[AgentEvent]:
    """The events of a run inside a tool, as the run that called the tool passes them on."""
    async for event in events:
        yield Nested(tool=tool, id=id, event=event)


async def together(*loops: AsyncIterator[AgentEvent]) -> AsyncIterator[AgentEvent]:
    """The events of several loops as they come."""
    coming = {asyncio.ensure_future(anext(loop, None)): loop for loop in loops}
    try:
        while coming:
            await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in coming if task.done()]:
                loop = coming.pop(task)
                event = task.result()
                if event is not None:
                    coming[asyncio.ensure_future(anext(loop, None))] = loop
                    yield event
    finally:
        for task in coming:
            task.cancel()


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
