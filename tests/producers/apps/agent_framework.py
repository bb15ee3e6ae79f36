"""agent-framework-ag-ui: its endpoint around agents and a workflow whose chat client follows a script."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    WorkflowBuilder,
    tool,
)
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from fastapi import FastAPI
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

Script = Callable[[Sequence[Message]], Sequence[Content]]


class _Client(BaseChatClient):
    def __init__(self, *, script: Script, **options: Any) -> None:
        super().__init__(**options)
        self._script = script

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Awaitable[ChatResponse] | ResponseStream[ChatResponseUpdate, ChatResponse]:
        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            number = sum(message.role == "assistant" for message in messages)
            for content in self._script(messages):
                yield ChatResponseUpdate(contents=[content], role="assistant", message_id=f"message-{number}")

        streamed = self._build_response_stream(updates())
        return streamed if stream else streamed.get_final_response()


class Scripted(FunctionInvocationLayer, _Client):
    """Streams what a script makes of the messages so far, and runs the tools that it calls."""


def _text(*deltas: str) -> list[Content]:
    return [Content.from_text(delta) for delta in deltas]


def _thinks(*deltas: str) -> list[Content]:
    return [Content.from_text_reasoning(text=delta) for delta in deltas]


def _call(id: str, name: str, **arguments: Any) -> list[Content]:
    """A call whose arguments come in two pieces."""
    text = json.dumps(arguments)
    return [Content.from_function_call(id, name, arguments=piece) for piece in (text[:5], text[5:])]


def _answered(messages: Sequence[Message]) -> bool:
    return any(content.type == "function_result" for message in messages for content in message.contents)


def _researches(messages: Sequence[Message]) -> Sequence[Content]:
    if _answered(messages):
        return _thinks("753 BC is before 1040.") + _text("Rome is ", "older.")
    calls = _call("call-1", "founded", city="Rome") + _call("call-2", "founded", city="Oslo")
    return _thinks("Two cities, ", "two look-ups.") + _text("I look ", "both up.") + calls


def _shows(messages: Sequence[Message]) -> Sequence[Content]:
    return _text("Shown.") if _answered(messages) else _call("call-1", "show")


def _draws(messages: Sequence[Message]) -> Sequence[Content]:
    return _text("Drawn.") if _answered(messages) else _call("call-1", "draw", drawn=["Rome"])


def _breaks(_: Sequence[Message]) -> Sequence[Content]:
    raise RuntimeError("the model is gone")


@tool(approval_mode="never_require")
def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


@tool(approval_mode="never_require")
def draw(drawn: list[str]) -> str:
    """Draw cities."""
    return "two lines"


confirmed = tool(approval_mode="always_require")(founded.func)


def _agent(script: Script, name: str = "agent", **options: Any) -> Agent:
    return Agent(client=Scripted(script=script), name=name, **options)


def _workflow() -> Any:
    scholar, writer = _agent(_researches, "scholar", tools=[founded]), _agent(lambda _: _text("Rome, then."), "writer")
    return WorkflowBuilder(start_executor=scholar).add_edge(scholar, writer).build()


def _served(make: Callable[[], Any], **options: Any) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        add_agent_framework_fastapi_endpoint(app, make(), "/agent", single_user=True, **options)
        return app

    return app


DRAWN: Any = {
    "state_schema": {"drawn": {"type": "array"}},
    "predict_state_config": {"drawn": {"tool": "draw", "tool_argument": "drawn"}},
}
SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "call-1", "content": "shown"}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "thinking": Scenario(_served(lambda: _agent(_researches, tools=[founded])), [says(QUESTION), says(AGAIN)]),
    "state": Scenario(_served(lambda: _agent(_draws, tools=[draw]), **DRAWN), [says(QUESTION, state={"drawn": []})]),
    "frontend-tool": Scenario(
        _served(lambda: _agent(_shows)), [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])]
    ),
    "approval": Scenario(_served(lambda: _agent(_researches, tools=[confirmed]))),
    "workflow": Scenario(_served(_workflow)),
    "error": Scenario(_served(lambda: _agent(_breaks)), fails=True),
}
