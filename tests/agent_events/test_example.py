"""The example, served as it is, and read by real clients."""

import asyncio
import importlib
from collections.abc import Callable

import httpx
import pytest

from tests.clients.client import Client

example = importlib.import_module("examples.agent_loop")

Clients = Callable[[str], Client]
Line = tuple[str, str | None, str | list[str]]

BEGINNING: list[Line] = [
    ("reasoning", None, "Two questions, two colleagues."),
    ("assistant", None, ["I ask two colleagues.", "research", "review"]),
    ("tool", None, "Twice a day."),
    ("tool", None, "The reviewer is away."),
]
INSIDE: list[Line] = [
    ("assistant", "r1-research", ["", "archive"]),
    ("tool", "r1-research", "Shelf 7, page 12."),
    ("assistant", "r1-review", "Let me see."),
    ("assistant", "r1-research-archive", "Shelf 7, page 12."),
    ("assistant", "r1-research", "Twice a day."),
]
END: list[Line] = [("assistant", None, "The tide comes twice a day.")]


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


def test_usage_of_the_children_is_the_runs() -> None:
    assert b'"usage":[{"model":"none","inputTokens":200,"outputTokens":40,"totalTokens":240}]' in served(
        "/public", "1.0.0"
    )
