"""The agent that `sockets` asks: `python -m tests.benchmarks.server CONTENDER [PROCESSES [HTTP]]` prints its port, and
serves till it is killed.

uvicorn with uvloop and httptools, or h11; Starlette's StreamingResponse, and ag-ui-protocol's models and encoder. Every
event is made when it is sent, carries the tag of a subagent, and tells in its delta when that was.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator
from typing import Literal

import uvicorn
from ag_ui.core import RunStartedEvent, TextMessageContentEvent, TextMessageStartEvent
from ag_ui.encoder import EventEncoder
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.benchmarks.contenders import CONTENDERS

Http = Literal["httptools", "h11"]
PADDING = "lorem ipsum do"  # so that a line of data is of about 100 bytes once its tag is gone


async def agent(scope: Scope, receive: Receive, send: Send) -> None:
    """`events`: how many; `pause`: milliseconds between them; `linger`: seconds between the last one and the end."""
    query = Request(scope).query_params
    events = deltas(int(query["events"]), float(query.get("pause", 0)) / 1000, float(query.get("linger", 0)))
    await StreamingResponse(events, media_type="text/event-stream")(scope, receive, send)


async def deltas(count: int, pause: float, linger: float) -> AsyncIterator[str]:
    encode = EventEncoder().encode
    yield encode(RunStartedEvent(thread_id="thread-1", run_id="run-1"))
    yield encode(TextMessageStartEvent(message_id="message-1", role="assistant", subagent_run_id="researcher-1"))
    due = time.monotonic()
    for _ in range(count):
        if pause:
            due += pause
            await asyncio.sleep(due - time.monotonic())
        delta = f"{time.monotonic_ns()} {PADDING}"
        yield encode(TextMessageContentEvent(message_id="message-1", delta=delta, subagent_run_id="researcher-1"))
    await asyncio.sleep(linger)


def main(contender: str, processes: str = "1", http: Http = "httptools") -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    for _ in range(int(processes) - 1):
        if not os.fork():
            break
    else:
        print(listening.getsockname()[1], flush=True)
    app = CONTENDERS[contender](agent)
    config = uvicorn.Config(app, loop="uvloop", http=http, lifespan="off", log_level="critical", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]  # uvicorn checks the name of the parser
