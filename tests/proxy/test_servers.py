"""The proxy behind the other servers, each in a process of its own: what uvicorn does, they do too."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from subprocess import DEVNULL

import anyio
import httpx
import pytest

from tests.proxy.servers import http
from tests.proxy.upstream import EVENTS, LAST, PATIENCE, Upstream, chunk, listening
from tests.robustness.exchange import frame
from tests.robustness.frameworks import missing
from tests.robustness.servers import COMMANDS, free_port

SERVERS = [name for name in COMMANDS if not name.startswith("uvicorn")]
PARTS = [frame({"type": "RUN_STARTED", "threadId": "t", "runId": "r"}), frame({"type": "RAW", "event": 1})]


@asynccontextmanager
async def chain(name: str) -> AsyncIterator[tuple[Upstream, str]]:
    """An upstream, and the URL of a proxy before it that this server serves."""
    if find_spec(COMMANDS[name][0]) is None:
        missing(f"{COMMANDS[name][0]} is not installed")
    port = free_port()
    bind = ["--bind", f"127.0.0.1:{port}"] if name.startswith("hypercorn") else ["--port", str(port)]
    async with listening() as upstream:
        environment = {**os.environ, "AGUI_MIDDLEWARE_UPSTREAM": upstream.url}
        command = [sys.executable, "-m", *COMMANDS[name], *bind, "tests.proxy.served:app"]
        async with await anyio.open_process(command, env=environment, stdout=DEVNULL, stderr=DEVNULL) as process:
            try:
                await _up(port)
                yield upstream, f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


async def _up(port: int) -> None:
    while True:
        try:
            await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
            return
        except OSError:
            await anyio.sleep(0.05)  # between looks; the upstream's patience bounds them


@pytest.mark.parametrize("name", SERVERS)
async def test_streams_come_event_by_event_and_break_off_and_end_with_their_clients(name: str) -> None:
    async with chain(name) as (upstream, url), http() as client:
        arrived = [anyio.Event() for _ in PARTS]
        ends = ["whole", "broken off", "left"]

        async def respond() -> None:
            for end in ends:
                connection = await upstream.connection()
                await connection.body()
                await connection.send(EVENTS.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
                for index, part in enumerate(PARTS):
                    await connection.send(chunk(part))
                    await arrived[index].wait()
                if end == "whole":
                    await connection.send(LAST)
                if end == "left":
                    await connection.closed()
                await connection.stream.aclose()

        async def read(leave: bool = False) -> None:
            arrived[:] = [anyio.Event() for _ in PARTS]
            async with client.stream("POST", f"{url}/agent", content=b"{}") as response:
                seen = b""
                async for data in response.aiter_raw():
                    seen += data
                    for part, event in zip(PARTS, arrived, strict=True):
                        if part in seen:
                            event.set()
                    if leave and PARTS[-1] in seen:
                        return
            assert seen == b"".join(PARTS)

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(respond)
                await read()
                with pytest.raises(httpx.RemoteProtocolError):
                    await read()
                await read(leave=True)
