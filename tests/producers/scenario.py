"""A conversation with an endpoint of a producer, and what went over the wire on both sides of the middleware."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import AGUIMiddleware
from tests.clients.client import Client, Outcome, Run

Json = dict[str, Any]

QUESTION: Json = {"id": "user-1", "role": "user", "content": "Which is older, Rome or Oslo?"}
SINCE_1_0 = {"protocolVersion": "1.0"}


def says(*messages: Json, **members: Any) -> Json:
    """What the application adds to one request: messages behind those that it holds, and members of the input."""
    return {"messages": list(messages), **members}


@dataclass(frozen=True)
class Scenario:
    """An endpoint, made anew for each conversation, and what the application says in each turn of it."""

    app: Callable[[], ASGIApp]
    turns: Sequence[Json] = (says(QUESTION),)
    path: str = "/agent"
    fails: bool = False
    """Whether the last turn is to end in RUN_ERROR; else no turn is."""


@dataclass(frozen=True)
class Exchange:
    """One request, its response, and what the client made of it."""

    input: Json
    produced: bytes
    """What the endpoint sent."""
    received: bytes
    """What left the middleware."""
    outcome: Outcome

    @property
    def run(self) -> Run:
        """The run as the endpoint produced it."""
        return Run(self.produced, self.input["messages"], self.input["state"])


async def converse(scenario: Scenario, client: Client) -> list[Exchange]:
    """Hold a conversation through the middleware: what the client makes of a response goes into its next request.

    A response that the client refuses is the last one.
    """
    tee = _Tee(scenario.app())
    exchanges: list[Exchange] = []
    transport = httpx.ASGITransport(app=AGUIMiddleware(tee), raise_app_exceptions=not scenario.fails)
    headers = {"accept": "text/event-stream", "x-ag-ui-client-version": client.release}
    async with httpx.AsyncClient(transport=transport, base_url="http://producer", headers=headers) as http:
        for turn, said in enumerate(scenario.turns):
            input = _input(said, turn, client, exchanges[-1].outcome if exchanges else None)
            response = await http.post(scenario.path, json=input)
            assert response.status_code == 200, response.text
            failed = b'"RUN_ERROR"' in response.content
            assert failed == (scenario.fails and turn + 1 == len(scenario.turns)), response.text
            [outcome] = client.read_many([Run(response.content, input["messages"], input["state"])])
            exchanges.append(Exchange(input, tee.taken(), response.content, outcome))
            if not outcome.accepted:
                break
    return exchanges


def _input(said: Json, turn: int, client: Client, before: Outcome | None) -> Json:
    held = {"messages": before.messages, "state": before.state} if before else {"messages": [], "state": {}}
    common = {"threadId": "thread", "runId": f"run-{turn + 1}", "tools": [], "context": [], "forwardedProps": {}}
    version = SINCE_1_0 if client.release == "1.0.0" else {}
    return {**common, **version, "state": held["state"], **said, "messages": held["messages"] + said["messages"]}


class _Tee:
    """Keeps the bytes that an app sends, so that both sides of the middleware are those of one and the same run."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sent: list[bytes] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def keep(message: Message) -> None:
            if message["type"] == "http.response.body":
                self._sent.append(bytes(message.get("body", b"")))
            await send(message)

        await self._app(scope, receive, keep)

    def taken(self) -> bytes:
        """What was sent since the last time."""
        sent, self._sent = b"".join(self._sent), []
        return sent
