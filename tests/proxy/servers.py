"""A proxy behind a real uvicorn, on this event loop."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp

from tests.proxy.upstream import PATIENCE


@asynccontextmanager
async def serving(app: ASGIApp, **options: Any) -> AsyncIterator[str]:
    """Serve `app`, with its lifespan, on a loopback port."""
    config = uvicorn.Config(
        app, log_level="critical", timeout_graceful_shutdown=1, server_header=False, date_header=False, **options
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        task = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


def http() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=PATIENCE, trust_env=False, verify=False)
