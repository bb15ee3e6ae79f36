"""An agent loop as an AG-UI endpoint, on sse-starlette and the request model of ag-ui-protocol."""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import aclosing
from typing import Any, TypeAlias

import msgspec
from anyio import CancelScope
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agui_middleware.agent_events.models import AgentEvent
from agui_middleware.agent_events.run_emitter import AGUIEvent, NewId
from agui_middleware.agent_events.to_agui import to_agui

try:
    from ag_ui.core import RunAgentInput
    from sse_starlette import EventSourceResponse
except ImportError as _missing:
    raise ImportError("an AG-UI endpoint needs the extra: pip install 'agui-middleware[agents]'") from _missing

AgentLoop: TypeAlias = Callable[[RunAgentInput], AsyncIterable[AgentEvent]]
"""Starts a loop for one request."""


class AgentEventResponse(EventSourceResponse):
    """Streams the AG-UI run of a loop as server-sent events.

    Arguments are those of `to_agui`, and all of `EventSourceResponse` (`ping` in seconds, `headers`, `background`,
    ...) but its content and `sep`: no published @ag-ui/client reads any line ends but LF. When the client leaves, the
    loop is cancelled where it waits, and closed before the response returns.
    """

    def __init__(
        self,
        events: AsyncIterable[AgentEvent],
        *,
        thread_id: str,
        run_id: str,
        parent_run_id: str | None = None,
        new_id: NewId | None = None,
        **options: Any,
    ) -> None:
        run = to_agui(events, thread_id=thread_id, run_id=run_id, parent_run_id=parent_run_id, new_id=new_id)
        self._frames = frames(run)
        super().__init__(self._frames, sep="\n", **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            # Not every way out of EventSourceResponse closes its content, depending on the release.
            with CancelScope(shield=True):
                await self._frames.aclose()


def agent_endpoint(loop: AgentLoop, **options: Any) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for Starlette's `Route` and FastAPI's `add_route`: a RunAgentInput in, the run of `loop` out.

    A body that is no RunAgentInput is answered with 422 and `{"detail": [{"type", "loc", "msg"}, ...]}`, the shape
    FastAPI has for that; nothing of the body is repeated in it. `options` are those of AgentEventResponse.
    """

    async def endpoint(request: Request) -> Response:
        try:
            run = RunAgentInput.model_validate_json(await request.body())
        except ValidationError as error:
            detail = error.errors(include_url=False, include_context=False, include_input=False)
            return JSONResponse({"detail": detail}, status_code=422)
        return AgentEventResponse(
            loop(run), thread_id=run.thread_id, run_id=run.run_id, parent_run_id=run.parent_run_id, **options
        )

    return endpoint


async def frames(events: AsyncGenerator[AGUIEvent, None]) -> AsyncGenerator[bytes, None]:
    """Each event as one frame of an event stream."""
    async with aclosing(events):
        async for event in events:
            yield b"data: " + _json(event) + b"\n\n"


def _json(event: AGUIEvent) -> bytes:
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        # A token that ends between the halves of an emoji: every client reads the escape, and joins the halves.
        return json.dumps(event, separators=(",", ":")).encode()
