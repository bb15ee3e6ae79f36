"""ag-ui-crewai: a flow whose model follows a script, in the place of LiteLLM's."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_flow_fastapi_endpoint,
    copilotkit_emit_state,
    copilotkit_emit_tool_result,
    copilotkit_stream,
)
from crewai.flow.flow import Flow, start
from fastapi import FastAPI
from litellm import CustomStreamWrapper
from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says


class Scripted(CustomStreamWrapper):
    """Streams these deltas."""

    def __init__(self, id: str, deltas: Sequence[Delta]) -> None:
        choices = [StreamingChoices(delta=delta) for delta in deltas]
        choices.append(StreamingChoices(delta=Delta(content=None), finish_reason="stop"))
        self._chunks = iter([ModelResponseStream(id=id, choices=[choice], created=0, model="m") for choice in choices])

    def __aiter__(self) -> "Scripted":
        return self

    async def __anext__(self) -> ModelResponseStream:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration


def _text(*deltas: str) -> list[Delta]:
    return [Delta(content=delta) for delta in deltas]


def _thinks(*deltas: str) -> list[Delta]:
    return [Delta(content=None, reasoning_content=delta) for delta in deltas]


def _call(index: int, id: str, name: str, **arguments: Any) -> list[Delta]:
    """A call whose arguments come in two pieces, behind its id and its name."""
    text = json.dumps(arguments)
    parts = [
        {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}},
        *({"index": index, "function": {"arguments": piece}} for piece in (text[:5], text[5:])),
    ]
    return [Delta(content=None, tool_calls=[part]) for part in parts]


class Researcher(Flow[CopilotKitState]):
    """Thinks, looks two cities up, and tells."""

    @start()
    async def chat(self) -> None:
        calls = _call(0, "call-1", "founded", city="Rome") + _call(1, "call-2", "founded", city="Oslo")
        await self._say("first", _thinks("Two cities, ", "two look-ups.") + _text("I look ", "both up.") + calls)
        for id, founded in (("call-1", "753 BC"), ("call-2", "1040")):
            self.state.messages.append({"role": "tool", "tool_call_id": id, "content": founded})
            await copilotkit_emit_tool_result(tool_call_id=id, content=founded)
        await self._say("last", _thinks("753 BC is before 1040.") + _text("Rome is ", "older."))

    async def _say(self, id: str, deltas: Sequence[Delta]) -> None:
        answer = await copilotkit_stream(Scripted(f"{id}-{self.state.id}-{len(self.state.messages)}", deltas))
        self.state.messages.append(answer.choices[0].message)


class Painter(Flow[CopilotKitState]):
    """Shows a state while it works."""

    @start()
    async def chat(self) -> None:
        await copilotkit_emit_state({"drawn": ["Rome"]})
        answer = await copilotkit_stream(Scripted("drawn", _text("Drawn.")))
        self.state.messages.append(answer.choices[0].message)


class Broken(Flow[CopilotKitState]):
    """Fails."""

    @start()
    async def chat(self) -> None:
        raise RuntimeError("the model is gone")


def _served(flow: Callable[[], Any], **options: Any) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        add_crewai_flow_fastapi_endpoint(app, flow(), "/agent", **options)
        return app

    return app


AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "thinking": Scenario(_served(Researcher), [says(QUESTION), says(AGAIN)]),
    "chunks": Scenario(_served(Researcher, emission_shape="chunks")),
    "raw-events": Scenario(_served(Researcher, emit_raw_events=True)),
    "state": Scenario(_served(Painter)),
    "error": Scenario(_served(Broken), fails=True),
}
