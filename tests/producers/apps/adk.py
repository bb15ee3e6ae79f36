"""ag-ui-adk: ADKAgent around agents of Google's ADK whose model follows a script."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from ag_ui_adk import ADKAgent, AGUIToolset, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.genai.types import Content, FunctionCall, Part
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

Script = Callable[[Sequence[Content]], Sequence[Part]]


class Scripted(BaseLlm):
    """Streams the parts that a script makes of the contents so far, and then the whole of them."""

    model: str = "scripted"
    script: Script

    async def generate_content_async(self, request: LlmRequest, stream: bool = False) -> AsyncIterator[LlmResponse]:
        parts = self.script(request.contents)
        for part in parts:
            if stream and part.text:
                yield LlmResponse(content=Content(role="model", parts=[part]), partial=True)
        whole = [
            Part(text=text, thought=thought or None) for thought in (True, False) if (text := _joined(parts, thought))
        ]
        calls = [part for part in parts if part.function_call]
        yield LlmResponse(content=Content(role="model", parts=whole + calls), partial=False, turn_complete=True)


def _joined(parts: Sequence[Part], thought: bool) -> str:
    return "".join(part.text for part in parts if part.text and bool(part.thought) == thought)


def _text(*deltas: str) -> list[Part]:
    return [Part(text=delta) for delta in deltas]


def _thinks(*deltas: str) -> list[Part]:
    return [Part(text=delta, thought=True) for delta in deltas]


def _call(id: str, name: str, **arguments: Any) -> Part:
    return Part(function_call=FunctionCall(id=id, name=name, args=arguments))


def _answered(contents: Sequence[Content]) -> bool:
    return any(part.function_response for content in contents for part in content.parts or ())


def _researches(contents: Sequence[Content]) -> Sequence[Part]:
    if _answered(contents):
        return _thinks("753 BC is before 1040.") + _text("Rome is ", "older.")
    calls = [_call("call-1", "founded", city="Rome"), _call("call-2", "founded", city="Oslo")]
    return _thinks("Two cities, ", "two look-ups.") + _text("I look ", "both up.") + calls


def _draws(contents: Sequence[Content]) -> Sequence[Part]:
    return _text("Drawn.") if _answered(contents) else [_call("call-1", "draw", city="Rome")]


def _shows(contents: Sequence[Content]) -> Sequence[Part]:
    return _text("Shown.") if _answered(contents) else [_call("call-1", "show")]


def _hands_over(_: Sequence[Content]) -> Sequence[Part]:
    return [*_text("I ask ", "a scholar."), _call("call-0", "transfer_to_agent", agent_name="scholar")]


def _scholar(_: Sequence[Content]) -> Sequence[Part]:
    return _text("Rome is ", "older.")


def _breaks(_: Sequence[Content]) -> Sequence[Part]:
    raise RuntimeError("the model is gone")


def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


def draw(city: str, tool_context: ToolContext) -> str:
    """Draw a city."""
    tool_context.state["drawn"] = [city]
    return "two lines"


def _agent(script: Script, name: str = "agent", **options: Any) -> LlmAgent:
    return LlmAgent(name=name, model=Scripted(script=script), **options)


def _served(make: Callable[[], LlmAgent], **options: Any) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        services = {"app_name": "app", "user_id": "user", "session_service": InMemorySessionService()}
        add_adk_fastapi_endpoint(app, ADKAgent(make(), **services, **options), "/agent")
        return app

    return app


SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "call-1", "content": "shown"}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "thinking": Scenario(_served(lambda: _agent(_researches, tools=[founded])), [says(QUESTION), says(AGAIN)]),
    "snapshot": Scenario(_served(lambda: _agent(_researches, tools=[founded]), emit_messages_snapshot=True)),
    "state": Scenario(_served(lambda: _agent(_draws, tools=[draw])), [says(QUESTION, state={"drawn": []})]),
    "frontend-tool": Scenario(
        _served(lambda: _agent(_shows, tools=[AGUIToolset()])),
        [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])],
    ),
    "transfer": Scenario(_served(lambda: _agent(_hands_over, sub_agents=[_agent(_scholar, "scholar")]))),
    "error": Scenario(_served(lambda: _agent(_breaks)), fails=True),
}
