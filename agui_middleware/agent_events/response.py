"""Serves an agent loop as an AG-UI endpoint, with sse-starlette and the request model of ag-ui-protocol."""

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
"""Starts the loop of one request."""


class AgentEventResponse(EventSourceResponse):
    """Streams the AG-UI run of a loop as server-sent events.

    Takes the arguments of `to_agui`, and those of `EventSourceResponse` (`ping` in seconds, `headers`, `background`, ...)
    except its content and `sep`: published releases of @ag-ui/client read LF only. When the client disconnects, the loop is
    cancelled where it waits, and closed before the response returns.
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
            # Some releases of EventSourceResponse do not close their content on every path.
            with CancelScope(shield=True):
                await self._frames.aclose()


def agent_endpoint(loop: AgentLoop, **options: Any) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint for Starlette's `Route` or FastAPI's `add_route`. It answers a RunAgentInput with a run of `loop`.

    Any other body is answered with 422 and `{"detail": [{"type", "loc", "msg"}, ...]}`, as FastAPI does; the answer
    repeats nothing of the body. `options` are those of `AgentEventResponse`.
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
    """Encode each event as one SSE frame."""
    async with aclosing(events):
        async for event in events:
            yield b"data: " + _json(event) + b"\n\n"


def _json(event: AGUIEvent) -> bytes:
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        # A token that ends between the halves of an emoji: clients read the escape, and join the halves.
        return json.dumps(event, separators=(",", ":")).encode()
