"""ag-ui-langgraph: LangGraphAgent around graphs whose model follows a script, and around deepagents."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from deepagents import create_deep_agent
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.callbacks.manager import adispatch_custom_event
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from starlette.types import ASGIApp
from typing_extensions import TypedDict

from tests.producers.scenario import QUESTION, Scenario, says

Script = Callable[[Sequence[BaseMessage]], Sequence[AIMessageChunk]]


class Scripted(BaseChatModel):
    """Streams what a script makes of the messages so far."""

    script: Script

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        return self

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.script(messages):
            yield ChatGenerationChunk(message=chunk)

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        whole, *rest = self.script(messages)
        for chunk in rest:
            whole += chunk
        return ChatResult(generations=[ChatGeneration(message=whole)])


class Talk(TypedDict):
    messages: Annotated[list[BaseMessage], add_messages]
    drawn: list[str]


def _text(*deltas: str) -> list[AIMessageChunk]:
    return [AIMessageChunk(content=delta) for delta in deltas]


def _calls(*calls: tuple[str, str, Any]) -> list[AIMessageChunk]:
    """Each call's id and name, and then its arguments in two pieces."""
    chunks = []
    for index, (id, name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        for id_, name_, piece in ((id, name, ""), (None, None, text[:5]), (None, None, text[5:])):
            part = tool_call_chunk(id=id_, name=name_, args=piece, index=index)
            chunks.append(AIMessageChunk(content="", tool_call_chunks=[part]))
    return chunks


def _thinks(*deltas: str) -> list[AIMessageChunk]:
    return [AIMessageChunk(content=[{"type": "thinking", "thinking": delta, "index": 0}]) for delta in deltas]


def _answered(messages: Sequence[BaseMessage]) -> bool:
    return any(isinstance(message, ToolMessage) for message in messages)


def _researches(messages: Sequence[BaseMessage]) -> Sequence[AIMessageChunk]:
    if _answered(messages):
        return _text("Rome is ", "older.")
    calls = _calls(("call-1", "founded", {"city": "Rome"}), ("call-2", "founded", {"city": "Oslo"}))
    return _thinks("Two cities, ", "two look-ups.") + _text("I look ", "both up.") + calls


@tool
async def founded(city: str) -> str:
    """When a city was founded."""
    return {"Rome": "753 BC"}.get(city, "1040")


def _served(make: Callable[[], Any], **options: Any) -> Callable[[], ASGIApp]:
    def app() -> ASGIApp:
        app = FastAPI()
        agent = LangGraphAgent(name="agent", graph=make(), **options)
        add_langgraph_fastapi_endpoint(app, agent, "/agent")
        return app

    return app


def _agent() -> Any:
    return create_agent(Scripted(script=_researches), tools=[founded], checkpointer=InMemorySaver())


def _says(*deltas: str) -> Callable[[Talk], Any]:
    async def node(state: Talk) -> Any:
        return {"messages": [await Scripted(script=lambda _: _text(*deltas)).ainvoke(state["messages"])]}

    return node


def _subgraph() -> Any:
    inner = StateGraph(Talk).add_node("look", _says("753 BC, ", "says Livy.")).add_edge(START, "look").compile()
    outer = StateGraph(Talk).add_node("plan", _says("I ask ", "a scholar.")).add_node("scholar", inner)
    outer.add_node("sum", _says("Rome is older.")).add_edge(START, "plan").add_edge("plan", "scholar")
    return outer.add_edge("scholar", "sum").compile(checkpointer=InMemorySaver())


def _pausing() -> Any:
    async def ask(state: Talk) -> Any:
        return {"drawn": [interrupt({"question": "Which city?"})]}

    graph = StateGraph(Talk).add_node("ask", ask).add_node("sum", _says("Drawn.")).add_edge(START, "ask")
    return graph.add_edge("ask", "sum").compile(checkpointer=InMemorySaver())


def _drawing() -> Any:
    async def draw(state: Talk) -> Any:
        await adispatch_custom_event("manually_emit_state", {"drawn": ["Rome"]})
        await adispatch_custom_event("manually_emit_message", {"message_id": "by-hand", "message": "Half done."})
        return {"drawn": ["Rome", "Oslo"]}

    graph = StateGraph(Talk).add_node("draw", draw).add_edge(START, "draw")
    return graph.compile(checkpointer=InMemorySaver())


def _failing() -> Any:
    def fails(_: Sequence[BaseMessage]) -> Sequence[AIMessageChunk]:
        raise RuntimeError("the model is gone")

    return create_agent(Scripted(script=fails), tools=[founded], checkpointer=InMemorySaver())


def _delegates(*cities: str) -> Script:
    def script(messages: Sequence[BaseMessage]) -> Sequence[AIMessageChunk]:
        if _answered(messages):
            return _text("Rome is ", "older.")
        tasks = [
            (f"task-{number}", "task", {"description": f"When was {city} founded?", "subagent_type": "scholar"})
            for number, city in enumerate(cities, 1)
        ]
        return _text("I ask ", "scholars.") + _calls(*tasks)

    return script


def _looks_up(messages: Sequence[BaseMessage]) -> Sequence[AIMessageChunk]:
    city = next(city for city in ("Rome", "Oslo") if any(city in str(message.content) for message in messages))
    if _answered(messages):
        return _text(f"{city}: ", "I found it.")
    return _text("I look ", f"for {city}.") + _calls((f"look-{city}", "founded", {"city": city}))


def _deep_agent(*cities: str, **more: Any) -> Any:
    scholar: Any = {
        "name": "scholar",
        "description": "Knows when cities were founded.",
        "system_prompt": "You look cities up.",
        "model": Scripted(script=_looks_up),
        "tools": [founded],
        **more,
    }
    return create_deep_agent(
        Scripted(script=_delegates(*cities)), tools=[founded], subagents=[scholar], checkpointer=InMemorySaver()
    )


def _two_scholars() -> Any:
    return _deep_agent("Rome", "Oslo")


ATTRIBUTED: Any = {"subagent_visibility": "attributed"}
BARE: Any = {"emit_raw_events": False}
AGAIN = {"id": "user-2", "role": "user", "content": "Are you sure?"}
RESUMED = says(forwardedProps={"command": {"resume": '"Rome"'}})

SCENARIOS = {
    "thinking": Scenario(_served(_agent, **BARE), [says(QUESTION), says(AGAIN)]),
    "raw-events": Scenario(_served(_subgraph)),
    "subgraph-inline": Scenario(_served(_subgraph, **BARE)),
    "subgraph-attributed": Scenario(_served(_subgraph, **BARE, **ATTRIBUTED)),
    "deepagents-inline": Scenario(_served(_two_scholars, **BARE)),
    "deepagents-attributed": Scenario(_served(_two_scholars, **BARE, **ATTRIBUTED)),
    "deepagents-hidden": Scenario(_served(_two_scholars, **BARE, subagent_visibility="hidden")),
    "deepagents-interrupt": Scenario(
        _served(
            lambda: _deep_agent("Rome", interrupt_on={"founded": True}),
            **BARE,
            **ATTRIBUTED,
            emit_interrupt_outcome=True,
        ),
        [
            says(QUESTION),
            says(forwardedProps={"command": {"resume": json.dumps({"decisions": [{"type": "approve"}]})}}),
        ],
    ),
    "interrupt": Scenario(_served(_pausing, **BARE, emit_interrupt_outcome=True), [says(QUESTION), RESUMED]),
    "state": Scenario(_served(_drawing, **BARE)),
    "error": Scenario(_served(_failing, **BARE), fails=True),
}
