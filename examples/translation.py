"""A filter that awaits: each text of the agent is held until it is whole, and translated by a service.

    uvicorn examples.translation:app
    node examples/client.mjs 0.0.58 http://127.0.0.1:8000/agent

A text also counts as whole where its run ends, and where the stream breaks off. What restates texts, such as
MESSAGES_SNAPSHOT, keeps the original here: "Where text hides" in the README of `agui_middleware/filters` lists such places.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi import FastAPI

from agui_middleware import AGUIMiddleware, Context, Event
from agui_middleware.filters.chunks import expand_chunks
from examples.agent import agent

WHOLE = {"TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT", "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"}


async def translate(text: str) -> str:
    """What a request to a service would do."""
    await asyncio.sleep(0.01)
    return text.replace("older", "älter")


async def translated(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    held: dict[str, list[Event]] = {}  # the deltas of each text that is not whole

    async def whole(message_id: str) -> Event:
        deltas = held.pop(message_id)
        for delta in deltas:
            context.release(delta)
        return deltas[0].replace(delta=await translate("".join(delta["delta"] for delta in deltas)))

    async with aclosing(expand_chunks(events, context)) as expanded:
        async for event in expanded:
            if event.type == "TEXT_MESSAGE_CONTENT":
                context.hold(event)  # counts against `max_event_bytes`
                held.setdefault(event["messageId"], []).append(event)
                continue
            if event.type in WHOLE:
                for message_id in [event["messageId"]] if event.type == "TEXT_MESSAGE_END" else list(held):
                    if message_id in held:
                        yield await whole(message_id)
            yield event
        for message_id in list(held):
            yield await whole(message_id)


app = FastAPI()
app.post("/agent")(agent)
app.add_middleware(AGUIMiddleware, filters=[translated])
