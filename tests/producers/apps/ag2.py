"""AG2: AGUIStream around agents whose model follows a script, alone, with a subagent, and with a question for the user."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ag2 import Agent, Context
from ag2.ag_ui import AGUIStream
from ag2.events import BaseEvent, ModelMessage, ModelMessageChunk, ModelReasoning, ModelResponse, ToolCallEvent
from ag2.testing import TestClient, TestConfig
from ag2.tools import tool
from ag2.tools.subagents import subagent_tool
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""The server's clock, which writes until when it waits for an answer."""


class Scripted(TestConfig):
    """A model that goes on with its script in the next request."""

    def __init__(self, *turns: Any) -> None:
        super().__init__(*turns)
        self._client = super().create()

    def create(self) -> TestClient:
        return self._client


def _text(*deltas: str) -> list[BaseEvent]:
    """A text, in deltas if there are several, and the end of the turn."""
    message = ModelMessage("".join(deltas))
    return [*(map(ModelMessageChunk, deltas) if len(deltas) > 1 else ()), message, ModelResponse(message)]


# Several calls in one turn have their results in another order each time, so no model makes more than one.
def _call(id: str, name: str, arguments: str = "{}") -> ToolCallEvent:
    return ToolCallEvent(name, id=id, arguments=arguments)


@tool
async def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


@tool
async def draw(context: Context) -> str:
    """Draw Rome."""
    context.variables["drawn"] = ["Rome"]
    return "two lines"


@tool
async def confirm(context: Context) -> str:
    """Ask the user."""
    return await context.input("Really?")


OBJECTIVE = '{"objective": "When was Rome founded?"}'


def _researcher() -> Agent:
    rome, oslo = ([_call(f"call-{city}", "founded", f'{{"city": "{city}"}}')] for city in ("Rome", "Oslo"))
    thoughts = ModelReasoning("Two cities, "), ModelReasoning("two look-ups.")
    turns = [*thoughts, rome, oslo, ModelReasoning("753 BC is before 1040."), *_text("Rome is ", "older.")]
    return Agent("researcher", config=Scripted(*turns, *_text("Yes, ", "I am sure.")), tools=[founded])


def _supervisor() -> Agent:
    calls = [_call("call-1", "founded", '{"city": "Rome"}')]
    scholar = Agent("scholar", config=Scripted(calls, *_text("I look ", "it up: 753 BC.")), tools=[founded])
    broken = Agent("clerk", config=Scripted(ModelMessageChunk("I look "), RuntimeError("the archive is shut")))
    tasks = [[_call(f"task-{name}", f"task_{name}", OBJECTIVE)] for name in ("scholar", "clerk")]
    tools = [subagent_tool(agent, description="Looks a city up.") for agent in (scholar, broken)]
    return Agent("supervisor", config=Scripted(*tasks, *_text("Rome is ", "older.")), tools=tools)


def _with(*turns: Any, tools: list[Any] | None = None) -> Callable[[], Agent]:
    return lambda: Agent("agent", config=Scripted(*turns), tools=tools or [])


def _served(make: Callable[[], Agent]) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        return Starlette(routes=[Route("/agent", AGUIStream(make(), now=lambda: NOW).build_asgi())])

    return app


SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "call-1", "content": "shown"}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "thinking": Scenario(_served(_researcher), [says(QUESTION), says(AGAIN)]),
    "subagents": Scenario(_served(_supervisor)),
    "state": Scenario(
        _served(_with([_call("call-1", "draw")], *_text("Drawn."), tools=[draw])), [says(QUESTION, state={"lines": 0})]
    ),
    "frontend-tool": Scenario(
        _served(_with([_call("call-1", "show")], *_text("Shown."))),
        [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])],
    ),
    "question": Scenario(_served(_with([_call("call-1", "confirm")], *_text("Done."), tools=[confirm]))),
    "whole-text": Scenario(_served(_with(*_text("Rome is older.")))),
    "error": Scenario(_served(_with(ModelMessageChunk("Rome is "), RuntimeError("the model is gone"))), fails=True),
}
