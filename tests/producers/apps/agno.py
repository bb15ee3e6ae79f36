"""agno: the AGUI interface around agents and a team whose model follows a script."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.os.interfaces.agui import AGUI
from agno.run import RunContext
from agno.team import Team
from agno.tools import tool
from agno.tools.reasoning import ReasoningTools
from fastapi import FastAPI
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

Script = Callable[[Sequence[Message]], Sequence[ModelResponse]]


@dataclass
class Scripted(Model):
    """Streams what a script makes of the messages so far."""

    id: str = "scripted"
    script: Script = field(default=lambda _: [])

    async def ainvoke_stream(self, messages: list[Message], *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        for delta in self.script(messages):
            yield delta

    def invoke_stream(self, messages: list[Message], *_: Any, **__: Any) -> Iterator[ModelResponse]:
        yield from self.script(messages)

    async def ainvoke(self, messages: list[Message], *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke(self, messages: list[Message], *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def _text(*deltas: str) -> list[ModelResponse]:
    return [ModelResponse(role="assistant", content=delta) for delta in deltas]


def _calls(*calls: tuple[str, str, Any]) -> list[ModelResponse]:
    """Each call's id, name and arguments."""
    return [
        ModelResponse(
            tool_calls=[
                {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for id, name, arguments in calls
            ]
        )
    ]


def _answered(messages: Sequence[Message]) -> bool:
    return any(message.role == "tool" for message in messages)


def _researches(messages: Sequence[Message]) -> list[ModelResponse]:
    if _answered(messages):
        return _text("Rome is ", "older.")
    calls = _calls(("call-1", "founded", {"city": "Rome"}), ("call-2", "founded", {"city": "Oslo"}))
    return _text("I look ", "both up.") + calls


def _plans(messages: Sequence[Message]) -> list[ModelResponse]:
    if _answered(messages):
        return _text("Rome is older.")
    return _calls(("call-1", "think", {"title": "Plan", "thought": "Two cities, two look-ups.", "confidence": 0.9}))


def _draws(messages: Sequence[Message]) -> list[ModelResponse]:
    return _text("Drawn.") if _answered(messages) else _calls(("call-1", "draw", {"city": "Rome"}))


def _shows(messages: Sequence[Message]) -> list[ModelResponse]:
    return _text("Shown.") if _answered(messages) else _calls(("call-1", "show", {}))


def _leads(messages: Sequence[Message]) -> list[ModelResponse]:
    if _answered(messages):
        return _text("Rome is ", "older.")
    task = {"member_id": "scholar", "task": "When was Rome founded?"}
    return _text("I ask ", "a scholar.") + _calls(("task-1", "delegate_task_to_member", task))


def _breaks(_: Sequence[Message]) -> list[ModelResponse]:
    raise RuntimeError("the model is gone")


def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


def draw(run_context: RunContext, city: str) -> str:
    """Draw a city."""
    run_context.session_state = {**(run_context.session_state or {}), "drawn": [city]}
    return "two lines"


def _agent(script: Script, name: str = "agent", **options: Any) -> Agent:
    return Agent(name=name, id=name, model=Scripted(script=script), db=InMemoryDb(), telemetry=False, **options)


def _served(make: Callable[[], Agent]) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        app.include_router(AGUI(agent=make()).get_router())
        return app

    return app


def _team() -> ASGIApp:
    scholar = _agent(_researches, "scholar", tools=[founded])
    leader = Scripted(script=_leads)
    team = Team(
        name="team", members=[scholar], model=leader, db=InMemoryDb(), telemetry=False, stream_member_events=True
    )
    app = FastAPI()
    app.include_router(AGUI(team=team).get_router())
    return app


confirmed = tool(requires_confirmation=True)(founded)
SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "call-1", "content": "shown"}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "tools": Scenario(_served(lambda: _agent(_researches, tools=[founded])), [says(QUESTION), says(AGAIN)], "/agui"),
    "reasoning": Scenario(_served(lambda: _agent(_plans, tools=[ReasoningTools()])), path="/agui"),
    "state": Scenario(_served(lambda: _agent(_draws, tools=[draw])), [says(QUESTION, state={"drawn": []})], "/agui"),
    "frontend-tool": Scenario(
        _served(lambda: _agent(_shows)), [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])], "/agui"
    ),
    "confirmation": Scenario(_served(lambda: _agent(_researches, tools=[confirmed])), path="/agui"),
    "team": Scenario(_team, path="/agui"),
    "error": Scenario(_served(lambda: _agent(_breaks)), path="/agui", fails=True),
}
