"""ag-ui-strands: StrandsAgent around an agent whose model follows a script, and around a graph of two."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from ag_ui_strands import StrandsAgent, add_strands_fastapi_endpoint
from fastapi import FastAPI
from starlette.types import ASGIApp
from strands import Agent, tool
from strands.models import Model
from strands.multiagent import GraphBuilder

from tests.producers.scenario import QUESTION, Scenario, says

Script = Callable[[Sequence[Any]], Sequence[Any]]


class Scripted(Model):
    """Streams the content blocks that a script makes of the messages so far."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> Any:
        return {"model_id": "scripted"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        blocks = self._script(messages)
        yield {"messageStart": {"role": "assistant"}}
        for start, deltas in blocks:
            yield {"contentBlockStart": {"start": start}}
            for delta in deltas:
                yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if any(start for start, _ in blocks) else "end_turn"}}


def _text(*deltas: str) -> Any:
    return {}, [{"text": delta} for delta in deltas]


def _thinks(*deltas: str) -> Any:
    return {}, [{"reasoningContent": {"text": delta}} for delta in deltas]


def _call(id: str, name: str, **arguments: Any) -> Any:
    """A call whose arguments come in two pieces."""
    text = json.dumps(arguments)
    return {"toolUse": {"toolUseId": id, "name": name}}, [
        {"toolUse": {"input": piece}} for piece in (text[:5], text[5:])
    ]


def _answered(messages: Sequence[Any]) -> bool:
    return any("toolResult" in block for message in messages for block in message["content"])


def _researches(messages: Sequence[Any]) -> Sequence[Any]:
    if _answered(messages):
        return [_thinks("753 BC is before 1040."), _text("Rome is ", "older.")]
    calls = [_call("call-1", "founded", city="Rome"), _call("call-2", "founded", city="Oslo")]
    return [_thinks("Two cities, ", "two look-ups."), _text("I look ", "both up."), *calls]


def _shows(messages: Sequence[Any]) -> Sequence[Any]:
    return [_text("Shown.")] if _answered(messages) else [_call("call-1", "show")]


def _breaks(_: Sequence[Any]) -> Sequence[Any]:
    raise RuntimeError("the model is gone")


@tool
def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


def _agent(script: Script, **options: Any) -> Agent:
    return Agent(model=Scripted(script), callback_handler=None, **options)


def _graph() -> Any:
    builder = GraphBuilder()
    builder.add_node(_agent(_researches, tools=[founded]), "scholar")
    builder.add_node(_agent(lambda _: [_text("Rome, ", "then.")]), "writer")
    builder.add_edge("scholar", "writer")
    return builder.build()


def _served(make: Callable[[], Any]) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        add_strands_fastapi_endpoint(app, StrandsAgent(make(), name="agent"), "/agent")
        return app

    return app


SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "call-1", "content": "shown"}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "thinking": Scenario(_served(lambda: _agent(_researches, tools=[founded])), [says(QUESTION), says(AGAIN)]),
    "frontend-tool": Scenario(
        _served(lambda: _agent(_shows)), [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])]
    ),
    "graph": Scenario(_served(lambda: _graph)),
    "error": Scenario(_served(lambda: _agent(_breaks)), fails=True),
}
