"""A FastAPI agent with two subagents that work at once, and no model behind it.

    pip install -e '.[examples]'
    uvicorn examples.agent:app

`/agent` serves every client; `/public/agent` keeps its subagents to itself. `PLAIN=1` leaves the middleware out, which
shows what an old client makes of such a stream: `node examples/client.mjs 0.0.58 http://127.0.0.1:8000/agent`.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from ag_ui.encoder import EventEncoder
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import StreamingResponse

from agui_middleware import AGUIMiddleware, Route, Settings

app = FastAPI()


async def researcher(name: str, topic: str, findings: list[str], events: asyncio.Queue[BaseEvent]) -> None:
    """A subagent: announces itself, streams its findings as chunks, and says that it is done."""
    await events.put(SubagentStartedEvent(subagent_run_id=name, name="researcher", description=topic))
    for number, finding in enumerate(findings):
        first: dict[str, Any] = {"message_id": f"{name}-message"} if number == 0 else {}
        await events.put(TextMessageChunkEvent(subagent_run_id=name, delta=finding, **first))
        await asyncio.sleep(0)
    await events.put(SubagentFinishedEvent(subagent_run_id=name))


async def delegate(*subagents: asyncio.Task[None], events: asyncio.Queue[BaseEvent]) -> AsyncIterator[BaseEvent]:
    """What the subagents send, as it comes."""
    while not (all(task.done() for task in subagents) and events.empty()):
        yield await events.get()
    await asyncio.gather(*subagents)


async def run(input: RunAgentInput) -> AsyncIterator[BaseEvent]:
    """One run of the agent: a plan, two subagents at once, and a summary."""
    yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
    yield TextMessageStartEvent(message_id="plan", role="assistant")
    yield TextMessageContentEvent(message_id="plan", delta="I ask two researchers.")
    yield TextMessageEndEvent(message_id="plan")
    events: asyncio.Queue[BaseEvent] = asyncio.Queue()
    rome = asyncio.create_task(researcher("rome", "Rome", ["Founded in 753 BC, ", "on seven hills."], events))
    oslo = asyncio.create_task(researcher("oslo", "Oslo", ["Founded in 1040, ", "on a fjord."], events))
    async for event in delegate(rome, oslo, events=events):
        yield event
    yield TextMessageStartEvent(message_id="summary", role="assistant")
    yield TextMessageContentEvent(message_id="summary", delta="Rome is the older one.")
    yield TextMessageEndEvent(message_id="summary")
    yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)


@app.post("/agent")
@app.post("/public/agent")
async def agent(input: RunAgentInput) -> StreamingResponse:
    encoder = EventEncoder()
    return StreamingResponse(
        (encoder.encode(event) async for event in run(input)), media_type=encoder.get_content_type()
    )


if not os.environ.get("PLAIN"):
    app.add_middleware(
        AGUIMiddleware,
        settings=Settings(routes=[Route(path="/public/{name}", visibility="hidden"), Route(path="/agent")]),
    )
# A browser asks before it sends a header of ours, and shows a page only the response headers that are named here.
app.add_middleware(
    CORSMiddleware,
    allow_origins=["*"],
    allow_methods=["POST"],
    allow_headers=["content-type", "x-ag-ui-client-version"],
    expose_headers=["x-ag-ui-downgrade"],
)
