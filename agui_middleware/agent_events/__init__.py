"""Turns the events of an agent loop into an AG-UI run, including the runs inside its tools.

    async def agent(request: RunAgentInput) -> AsyncIterator[AgentEvent]:
        yield TurnStart(turn=1)
        yield TextDelta(text="Hello")
        yield Done(outcome=RunOutcome(status="finished", text="Hello"))

    app = Starlette(routes=[Route("/agent", agent_endpoint(agent), methods=["POST"])])

Only `AgentEventResponse` and `agent_endpoint` need the extra `agents`.
"""

from typing import TYPE_CHECKING, Any

from agui_middleware.agent_events.loops import merge, nested_events
from agui_middleware.agent_events.models import (
    AgentEvent,
    AgentEventAdapter,
    AssistantText,
    Compacted,
    Done,
    MessageDelivered,
    Nested,
    QueuedInput,
    RunOutcome,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolDenied,
    ToolResult,
    TurnStart,
    TurnUsage,
    Usage,
)
from agui_middleware.agent_events.to_agui import to_agui

if TYPE_CHECKING:
    from agui_middleware.agent_events.response import AgentEventResponse, agent_endpoint

__all__ = [
    "AgentEvent",
    "AgentEventAdapter",
    "AgentEventResponse",
    "AssistantText",
    "Compacted",
    "Done",
    "MessageDelivered",
    "Nested",
    "QueuedInput",
    "RunOutcome",
    "TextDelta",
    "ThinkingDelta",
    "ToolCall",
    "ToolDenied",
    "ToolResult",
    "TurnStart",
    "TurnUsage",
    "Usage",
    "agent_endpoint",
    "merge",
    "nested_events",
    "to_agui",
]


def __getattr__(name: str) -> Any:
    # On first use only: importing sse-starlette changes uvicorn's signal handling, and it may not be installed.
    if name in ("AgentEventResponse", "agent_endpoint"):
        from agui_middleware.agent_events import response

        return getattr(response, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
