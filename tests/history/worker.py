"""An app for a worker process: the middleware with a store, in front of agents that live elsewhere.

The environment says where: `AGENTS`, a URL; and which store, and how long it may take: `STORE`, `TIMEOUT`.
"""

import os

import httpx
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Settings
from agui_middleware import Route as Endpoint
from tests.history.routes import LIMIT, ROUTES


def settings(store: str | None, timeout: float) -> Settings:
    """One path for each route of the conversations."""
    endpoints = [
        Endpoint.model_validate({"path": f"/{each.name}", "visibility": each.visibility, "filters": each.filters})
        for each in ROUTES
    ]
    return Settings(routes=endpoints, history=store, history_limit=LIMIT, history_timeout=timeout)


async def body_of(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


class Forward:
    """Posts each body to the agents, and passes on what they stream."""

    def __init__(self, url: str) -> None:
        self._client = httpx.AsyncClient(base_url=url, trust_env=False, timeout=60)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        async with self._client.stream("POST", "/", content=body) as response:
            headers = [(b"content-type", b"text/event-stream")]
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for chunk in response.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def app() -> AGUIMiddleware:
    environment = os.environ
    return AGUIMiddleware(Forward(environment["AGENTS"]), settings(environment["STORE"], float(environment["TIMEOUT"])))
