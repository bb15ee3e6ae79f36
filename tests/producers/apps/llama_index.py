"""llama-index-protocols-ag-ui: its workflow router around a model that follows a script."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from fastapi import FastAPI
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.workflow import Context
from llama_index.protocols.ag_ui.router import get_ag_ui_workflow_router
from starlette.types import ASGIApp

from tests.producers.scenario import QUESTION, Scenario, says

Script = Callable[[Sequence[ChatMessage]], tuple[Sequence[str], Sequence[ToolSelection]]]


class Scripted(MockFunctionCallingLLM):
    """Streams the deltas and the calls that a script makes of the messages so far."""

    script: Script

    async def astream_chat_with_tools(self, *_: Any, chat_history: Any = (), **__: Any) -> AsyncIterator[ChatResponse]:
        async def responses() -> AsyncIterator[ChatResponse]:
            deltas, calls = self.script(chat_history)
            message = ChatMessage(role="assistant", content="")
            for delta in deltas:
                message = ChatMessage(role="assistant", content=(message.content or "") + delta)
                yield ChatResponse(message=message, delta=delta)
            message.additional_kwargs["calls"] = calls
            yield ChatResponse(message=message, delta="")

        return responses()

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        return list(response.message.additional_kwargs.get("calls", ()))


def _call(id: str, name: str, **arguments: Any) -> ToolSelection:
    return ToolSelection(tool_id=id, tool_name=name, tool_kwargs=arguments)


def _answered(messages: Sequence[ChatMessage]) -> bool:
    return any("tool_call_id" in message.additional_kwargs for message in messages)


def _researches(messages: Sequence[ChatMessage]) -> tuple[Sequence[str], Sequence[ToolSelection]]:
    if _answered(messages):
        return ["Rome is ", "older."], []
    return ["I look ", "both up."], [_call("call-1", "founded", city="Rome"), _call("call-2", "founded", city="Oslo")]


def _shows(messages: Sequence[ChatMessage]) -> tuple[Sequence[str], Sequence[ToolSelection]]:
    return (["Shown."], []) if _answered(messages) else ([], [_call("call-1", "show")])


def _draws(messages: Sequence[ChatMessage]) -> tuple[Sequence[str], Sequence[ToolSelection]]:
    return (["Drawn."], []) if _answered(messages) else ([], [_call("call-1", "draw", city="Rome")])


def _breaks(_: Sequence[ChatMessage]) -> tuple[Sequence[str], Sequence[ToolSelection]]:
    raise RuntimeError("the model is gone")


async def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


async def draw(ctx: Context, city: str) -> str:
    """Draw a city."""
    await ctx.store.set("state", {"drawn": [city]})
    return "two lines"


def _served(script: Script, **options: Any) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        app.include_router(get_ag_ui_workflow_router(llm=Scripted(script=script), **options))
        return app

    return app


SHOW = {"name": "show", "description": "Show a city.", "parameters": {"type": "object", "properties": {}}}
SHOWN = {"id": "shown", "role": "tool", "toolCallId": "call-1", "content": "shown"}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}

SCENARIOS = {
    "tools": Scenario(_served(_researches, backend_tools=[founded]), [says(QUESTION), says(AGAIN)], "/run"),
    "state": Scenario(_served(_draws, backend_tools=[draw]), [says(QUESTION, state={"drawn": []})], "/run"),
    "frontend-tool": Scenario(_served(_shows), [says(QUESTION, tools=[SHOW]), says(SHOWN, tools=[SHOW])], "/run"),
    "error": Scenario(_served(_breaks), path="/run", fails=True),
}
