"""pydantic-ai: AGUIAdapter around its own TestModel and FunctionModel."""

from collections.abc import AsyncIterator, Callable
from typing import Any

from ag_ui.core import CustomEvent, EventType, StateDeltaEvent, StateSnapshotEvent
from pydantic_ai import Agent, DeferredToolRequests, ToolReturn
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

Deltas = AsyncIterator[str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]]
OLD_WORDS = {"ag_ui_version": "0.1.10"}


def _served(agent: Agent[None, Any], **options: Any) -> Callable[[], ASGIApp]:
    async def endpoint(request: Request) -> Response:
        return await AGUIAdapter.dispatch_request(request, agent=agent, **options)

    return lambda: Starlette(routes=[Route("/agent", endpoint, methods=["POST"])])


def _answered(messages: list[ModelMessage]) -> int:
    return sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)


async def _researches(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    if not _answered(messages):
        yield {0: DeltaThinkingPart(content="Two cities, ")}
        yield {0: DeltaThinkingPart(content="two look-ups.", signature="signed")}
        yield "I look "
        yield "both up."
        yield {1: DeltaToolCall(name="founded", json_args='{"city": ', tool_call_id="call-1")}
        yield {1: DeltaToolCall(json_args='"Rome"}')}
        yield {2: DeltaToolCall(name="founded", json_args='{"city": "Oslo"}', tool_call_id="call-2")}
    else:
        yield {0: DeltaThinkingPart(content="753 BC is before 1040.")}
        yield "Rome is "
        yield "older."


async def _draws(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    if not _answered(messages):
        yield {0: DeltaToolCall(name="draw", json_args="{}", tool_call_id="call-1")}
    else:
        yield "Drawn."


async def _interleaves(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    if not _answered(messages):
        yield {1: DeltaToolCall(name="founded", json_args='{"city": ', tool_call_id="call-1")}
        yield {2: DeltaToolCall(name="founded", json_args='{"city": "Oslo"}', tool_call_id="call-2")}
        yield {1: DeltaToolCall(json_args='"Rome"}')}
    else:
        yield "Rome is older."


async def _breaks(messages: list[ModelMessage], _: AgentInfo) -> Deltas:
    yield "Rome is "
    raise RuntimeError("the model is gone")


def _researcher(stream: Callable[[list[ModelMessage], AgentInfo], Deltas] = _researches) -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(FunctionModel(stream_function=stream))

    @agent.tool_plain
    def founded(city: str) -> str:
        return {"Rome": "753 BC"}.get(city, "1040")

    return agent


def _painter() -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(FunctionModel(stream_function=_draws))

    @agent.tool_plain
    def draw() -> ToolReturn:
        change: Any = {"op": "replace", "path": "/drawn/0", "value": "Oslo"}
        return ToolReturn(
            return_value={"lines": 2},
            metadata=[
                StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot={"drawn": ["Rome"]}),
                StateDeltaEvent(type=EventType.STATE_DELTA, delta=[change]),
                CustomEvent(type=EventType.CUSTOM, name="drawn", value={"lines": 2}),
            ],
        )

    return agent


def _asker() -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(FunctionModel(stream_function=_draws), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def draw() -> str:
        return "two lines"

    return agent


def _tested() -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(TestModel(custom_output_text="Rome is older."))

    @agent.tool_plain
    def founded(city: str) -> str:
        return "753 BC"

    return agent


SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "pyd_ai_tool_call_id__show", "content": "shown"}
APPROVED = {"interruptId": "int-call-1", "status": "resolved", "payload": {"approved": True}}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "tool": Scenario(_served(_tested())),
    "thinking": Scenario(_served(_researcher()), [says(QUESTION), says(AGAIN)]),
    "thinking-old-words": Scenario(_served(_researcher(), **OLD_WORDS)),
    "interleaved-calls": Scenario(_served(_researcher(_interleaves))),
    "state": Scenario(_served(_painter())),
    "frontend-tool": Scenario(_served(Agent(TestModel())), [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])]),
    "approval": Scenario(_served(_asker()), [says(QUESTION), says(resume=[APPROVED])]),
    "error": Scenario(_served(Agent(FunctionModel(stream_function=_breaks))), fails=True),
}
