"""What the servers serve: `tests.robustness.served:app`, every framework behind the middleware in every mode.

POST /FRAMEWORK/VISIBILITY/agent?key=KEY streams a run that stops in its middle until somebody posts to
/go-on?key=KEY on the same server. What becomes of it is written to the file AGUI_JOURNAL, one line each: the key and what
happened. Unknown paths and GET / answer 204, which tells that the server is up.
"""

import os
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings
from tests.robustness.agents import FRAMES
from tests.robustness.frameworks import FRAMEWORKS

STOP = 8
_gates: dict[str, anyio.Event] = {}


def note(key: str, what: str) -> None:
    with open(os.environ["AGUI_JOURNAL"], "a") as journal:
        journal.write(f"{key} {what}\n")


async def agent(key: str) -> AsyncIterator[bytes]:
    gate = _gates[key] = anyio.Event()
    try:
        for index, frame in enumerate(FRAMES):
            if index == STOP:
                note(key, "agent stopped")
                await gate.wait()
            yield frame
    finally:
        note(key, "agent ended")


async def counting(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    key = context.scope["query_string"].decode().removeprefix("key=")
    try:
        async for event in events:
            yield event
    finally:
        note(key, "filter ended")


@cache
def served(framework: str, visibility: Any) -> ASGIApp:
    route = Route(path="/agent", visibility=visibility, filters=[counting])
    return AGUIMiddleware(FRAMEWORKS[framework](agent), Settings(routes=[route]))


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    key = scope["query_string"].decode().removeprefix("key=")
    _, framework, *rest = scope["path"].split("/")
    if framework in FRAMEWORKS:
        await _serve(served(framework, rest[0]), scope, receive, send, key)
        return
    if framework == "go-on":
        _gates.pop(key).set()
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _serve(inner: ASGIApp, scope: Scope, receive: Receive, send: Send, key: str) -> None:
    """Note in which way the server tells that the client has left, and when the middleware's call returns."""

    async def noting_receive() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            note(key, "receive told")
        return message

    async def noting_send(message: Message) -> None:
        try:
            await send(message)
        except OSError:
            note(key, "send raised")
            raise

    try:
        await inner({**scope, "path": "/agent", "raw_path": b"/agent"}, noting_receive, noting_send)
    except BaseException as error:
        note(key, f"raised {type(error).__name__}")
        raise
    finally:
        note(key, "returned")


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.shutdown":
            # uvicorn cancels what still streams and is gone as soon as this returns: no later than that can it unwind.
            await anyio.sleep(0.5)
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
