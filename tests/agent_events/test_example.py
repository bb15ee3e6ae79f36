"""The example, served as it is, and read by real clients."""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable

import anyio
import httpx
import pytest
from starlette.types import Message

from agui_middleware.agent_events import AgentEvent, AgentEventResponse
from tests.clients.client import Client

example = importlib.import_module("examples.agent_loop")

Clients = Callable[[str], Client]
Line = tuple[str, str | None, str | list[str]]

BEGINNING: list[Line] = [
    ("reasoning", None, "Two cities, two researchers."),
    ("assistant", None, ["I ask two researchers.", "research", "research"]),
    ("tool", None, "Rome: 753 BC."),
    ("tool", None, "The archive of Oslo is closed."),
]
INSIDE: list[Line] = [
    ("assistant", "r1-research", ["", "archive"]),
    ("tool", "r1-research", "Livy says 753 BC."),
    ("assistant", "r1-research-2", "I look for Oslo."),
    ("assistant", "r1-research-archive", "I read Livy, who says 753 BC."),
    ("assistant", "r1-research", "Rome: 753 BC."),
]
END: list[Line] = [("assistant", None, "Rome is from 753 BC; of Oslo I could learn nothing.")]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "PACE", 0)


def served(path: str, release: str) -> bytes:
    async def post() -> bytes:
        transport = httpx.ASGITransport(example.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
            request = {"threadId": "t1", "runId": "r1", "messages": []}
            response = await http.post(path, json=request, headers={"x-ag-ui-client-version": release})
            assert response.status_code == 200
            return response.content

    return asyncio.run(post())


def read(client: Client, path: str) -> list[Line]:
    """The client's final messages: role, owner, and the text, with the tools that it calls."""
    outcome = client.read(served(path, client.release))
    assert outcome.accepted, outcome.error
    lines: list[Line] = []
    for message in outcome.messages:
        text = message.get("content") or ""
        calls = [call["function"]["name"] for call in message.get("toolCalls") or []]
        lines.append((message["role"], message.get("subagentRunId"), [text, *calls] if calls else text))
    return lines


@pytest.mark.parametrize("release", ["0.0.59", "1.0.0"])
def test_client_with_subagents_sees_who_said_what(client: Clients, release: str) -> None:
    assert read(client(release), "/agent") == BEGINNING + INSIDE + END


def test_client_without_subagents_sees_one_agent(client: Clients) -> None:
    inside = [(role, None, text) for role, _, text in INSIDE]
    assert read(client("0.0.58"), "/agent") == BEGINNING + inside + END


@pytest.mark.parametrize("release", ["0.0.58", "0.0.59", "1.0.0"])
def test_client_of_the_public_route_sees_nothing_of_the_children(client: Clients, release: str) -> None:
    assert read(client(release), "/public") == BEGINNING + END


async def test_leaving_client_stops_the_researchers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client leaves while both of them are at work."""
    working, say = asyncio.Event(), example.say
    begun, ended = set[str](), set[str]()

    async def falters(text: str) -> AsyncIterator[AgentEvent]:
        async for event in say(text):
            yield event
            if text in {"I look for Oslo.", "I read Livy, who says 753 BC."}:
                begun.add(text)
                if len(begun) == 2:
                    working.set()
                try:
                    await anyio.sleep_forever()
                finally:
                    ended.add(text)

    async def receive() -> Message:
        await working.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        assert message["type"] in {"http.response.start", "http.response.body"}

    monkeypatch.setattr(example, "say", falters)
    run = example.agent(None)
    scope = {"type": "http", "method": "POST", "path": "/agent", "headers": []}
    with anyio.fail_after(10):
        await AgentEventResponse(run, thread_id="t1", run_id="r1")(scope, receive, send)
    assert run.ag_frame is None
    assert ended == begun


def test_usage_of_the_children_is_the_runs() -> None:
    assert b'"usage":[{"model":"example","inputTokens":200,"outputTokens":40,"totalTokens":240}]' in served(
        "/public", "1.0.0"
    )
