"""Conversations with a store behind real producers: what their models are given, turn after turn. `.ci/producers` runs this.

In each turn the agent delegates or calls a tool, and the client posts what it could keep. `asyncio.run` and in-process
requests; the client is the real release.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from agui_middleware import AGUIMiddleware
from tests.clients.client import Client, Outcome, Run
from tests.producers.apps import installed

RELEASES = ("0.0.36", "0.0.45", "0.0.53", "0.0.58")
TURNS = 3


def needs(producer: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(producer not in installed(), reason="in an environment of another producer")


async def converse(app: ASGIApp, client: Client, turns: int = TURNS) -> list[Outcome]:
    """The outcomes of runs that each begin with something that the user says."""
    outcomes: list[Outcome] = []
    transport = httpx.ASGITransport(app=app)
    headers = {"accept": "text/event-stream", "x-ag-ui-client-version": client.release}
    async with httpx.AsyncClient(transport=transport, base_url="http://producer", headers=headers) as http:
        for turn in range(1, turns + 1):
            held = outcomes[-1].messages if outcomes else []
            said = {"id": f"user-{turn}", "role": "user", "content": f"Which is older, Rome or Oslo? ({turn})"}
            messages = [*held, said]
            rest: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
            input = {"threadId": "thread", "runId": f"run-{turn}", "messages": messages, **rest}
            response = await http.post("/agent", json=input)
            assert response.status_code == 200, response.text
            assert b'"RUN_ERROR"' not in response.content, response.text
            [outcome] = client.read_many([Run(response.content, messages, {})])
            assert outcome.accepted, outcome.error
            outcomes.append(outcome)
    return outcomes


def hold(
    app: ASGIApp, client: Callable[[str], Client], release: str, history: Any = "memory://", **options: Any
) -> list[Outcome]:
    return asyncio.run(converse(AGUIMiddleware(app, history=history, **options), client(release)))


# ag-ui-langgraph: a supervisor that delegates in every turn to a subagent with a tool of its own.


def _supervised(seen: list[Sequence[Any]]) -> ASGIApp:
    from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
    from deepagents import create_deep_agent
    from fastapi import FastAPI
    from langchain_core.messages import HumanMessage, ToolMessage
    from langgraph.checkpoint.memory import InMemorySaver

    from tests.producers.apps.langgraph import ATTRIBUTED, BARE, Scripted, _calls, _text, founded

    def delegates(messages: Sequence[Any]) -> Any:
        seen.append(messages)
        turn = sum(isinstance(message, HumanMessage) for message in messages)
        if isinstance(messages[-1], ToolMessage):
            return _text("Rome is ", "older.")
        task = {"description": f"When was Rome founded? ({turn})", "subagent_type": "scholar"}
        return _text("I ask ", "a scholar.") + _calls((f"task-{turn}", "task", task))

    def looks_up(messages: Sequence[Any]) -> Any:
        if isinstance(messages[-1], ToolMessage):
            return _text("FOREIGN: ", "I found it.")
        return _text("FOREIGN: ", "I look.") + _calls((f"look-{len(seen)}", "founded", {"city": "Rome"}))

    scholar: Any = {
        "name": "scholar",
        "description": "Knows when cities were founded.",
        "system_prompt": "You look cities up.",
        "model": Scripted(script=looks_up),
        "tools": [founded],
    }
    graph = create_deep_agent(
        Scripted(script=delegates), tools=[founded], subagents=[scholar], checkpointer=InMemorySaver()
    )
    app = FastAPI()
    agent = LangGraphAgent(name="agent", graph=graph, **BARE, **ATTRIBUTED)
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    return app


def _foreign(messages: Sequence[Any]) -> list[Any]:
    """What the subagent has said or called, and the results of that; the result of `task` is the supervisor's own."""
    return [
        message
        for message in messages
        if (message.type == "ai" and ("FOREIGN" in str(message.content) or _calls_founded(message)))
        or (message.type == "tool" and str(message.tool_call_id).startswith("look-"))
    ]


def _calls_founded(message: Any) -> bool:
    return any(call["name"] == "founded" for call in message.tool_calls)


@needs("langgraph")
@pytest.mark.parametrize("release", RELEASES)
def test_no_message_of_a_subagent_reaches_the_supervisors_model(client: Callable[[str], Client], release: str) -> None:
    seen: list[Sequence[Any]] = []
    hold(_supervised(seen), client, release)
    assert len(seen) == 2 * TURNS
    assert [len(_foreign(messages)) for messages in seen] == [0] * (2 * TURNS)
    without: list[Sequence[Any]] = []
    hold(_supervised(without), client, release, history=False)
    assert _foreign(without[-1])  # and without a store they do


# pydantic-ai: every call has its result, also with clients that hold none.


@needs("pydantic_ai")
@pytest.mark.parametrize("release", ["0.0.30", *RELEASES])
def test_pydantic_ai_finds_every_call_answered(client: Callable[[str], Client], release: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

    from tests.producers.apps.pydantic_ai import _served

    seen: list[list[ModelMessage]] = []

    def parts(messages: list[ModelMessage], kind: Any) -> list[Any]:
        return [part for message in messages for part in message.parts if isinstance(part, kind)]

    async def asks(messages: list[ModelMessage], _: AgentInfo) -> Any:
        seen.append(messages)
        turn = len(parts(messages, UserPromptPart))
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            yield "Rome is older."
        else:
            yield "I look it up."
            yield {1: DeltaToolCall(name="founded", json_args='{"city": "Rome"}', tool_call_id=f"call-{turn}")}

    agent: Agent[None, Any] = Agent(FunctionModel(stream_function=asks))

    @agent.tool_plain
    def founded(city: str) -> str:
        return "753 BC"

    hold(_served(agent)(), client, release, default_client=release)
    assert len(seen) == 2 * TURNS
    last = seen[-1]
    assert [part.tool_call_id for part in parts(last, ToolCallPart)] == [f"call-{turn}" for turn in (1, 2, 3)]
    returned = parts(last, ToolReturnPart)
    assert [part.tool_call_id for part in returned] == [f"call-{turn}" for turn in (1, 2, 3)]
    assert {part.content for part in returned} == {"753 BC"}
    assert "interrupted" not in str(last).lower()


# agent-framework: no result is dropped and invented.


@needs("agent_framework")
@pytest.mark.parametrize("release", ["0.0.30", *RELEASES])
def test_agent_framework_invents_no_result(client: Callable[[str], Client], release: str) -> None:
    from tests.producers.apps.agent_framework import _agent, _call, _served, _text, founded

    seen: list[Sequence[Any]] = []

    def asks(messages: Sequence[Any]) -> Any:
        seen.append(list(messages))
        turn = sum(message.role == "user" for message in messages)
        if messages[-1].role == "tool":
            return _text("Rome is ", "older.")
        return _text("I look ", "it up.") + _call(f"call-{turn}", "founded", city="Rome")

    hold(_served(lambda: _agent(asks, tools=[founded]))(), client, release, default_client=release)
    assert len(seen) == 2 * TURNS
    contents = [content for message in seen[-1] for content in message.contents]
    results = [(content.call_id, str(content.result)) for content in contents if content.type == "function_result"]
    assert results == [(f"call-{turn}", "753 BC") for turn in (1, 2, 3)]
    assert "skipped" not in str(seen[-1]).lower()
