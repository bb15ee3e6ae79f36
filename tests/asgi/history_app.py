"""An app for servers in processes of their own: it delegates in each turn, and its state tells what it was given.

The environment names the store, as in production: `AGUI_MIDDLEWARE_HISTORY`.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route as Endpoint

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.testing import encode_events
from tests.notation import stream


async def answer(request: Request) -> Response:
    posted = await request.json()
    messages = posted["messages"]
    turn = sum(message["role"] == "user" for message in messages)
    given = [[message["id"], message.get("subagentRunId")] for message in messages]
    state = {"type": "STATE_SNAPSHOT", "snapshot": {"given": given, "pid": os.getpid()}}
    delegates = (
        f"SUB+ s; TS n{turn} @s; TC n{turn} psst @s; TE n{turn} @s; SUB- s; TS m{turn}; TC m{turn} hi; TE m{turn}"
    )

    async def run() -> AsyncIterator[bytes]:
        yield encode_events(stream("RS r"))
        yield encode_events([state])
        yield encode_events(stream(delegates))
        if "waits" in posted["forwardedProps"]:
            await asyncio.Event().wait()  # until the client leaves
        yield encode_events(stream("RF r"))

    # Closed behind each response, so that the next request may come to another worker.
    return StreamingResponse(run(), media_type="text/event-stream", headers={"connection": "close"})


async def ping(_: Request) -> Response:
    return PlainTextResponse(json.dumps(os.getpid()))


app = AGUIMiddleware(
    Starlette(
        routes=[
            Endpoint("/inline", answer, methods=["POST"]),
            Endpoint("/hidden", answer, methods=["POST"]),
            Endpoint("/ping", ping),
        ]
    ),
    Settings(routes=[Route(path="/inline", visibility="inline"), Route(path="/hidden", visibility="hidden")]),
)
