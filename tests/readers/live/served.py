"""An endpoint behind the middleware, over HTTP: it answers with given streams, and keeps what was posted."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Settings
from tests.readers.drawn import messy
from tests.strategies import Json, batch, plain

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass
class Served:
    """Answers the first request with the first of `runs`, and so on; the last answers all that follow.

    - `history`: the store of the middleware; `None` for none.
    - `sent`: the bodies as the SDK sent them.
    - `given`: the bodies as the endpoint got them.
    """

    runs: Sequence[list[Json]]
    history: str | None = None
    sent: list[Json] = field(default_factory=list)
    given: list[Json] = field(default_factory=list)

    @cached_property
    def transport(self) -> httpx.ASGITransport:
        """What `httpx.AsyncClient` takes in place of a connection."""
        return httpx.ASGITransport(app=self._outer(AGUIMiddleware(self._answer, Settings(), history=self.history)))

    def _outer(self, app: ASGIApp) -> ASGIApp:
        async def keep(scope: Scope, receive: Receive, send: Send) -> None:
            body = await _body(receive)
            self.sent.append(json.loads(body))
            await app(scope, _given_again(body), send)

        return keep

    async def post(self, client: str, *bodies: Json) -> None:
        """Post bodies, as `client` would."""
        headers = {"x-ag-ui-client-version": client, "content-type": "application/json"}
        async with httpx.AsyncClient(transport=self.transport, headers=headers) as http:
            for body in bodies:
                await http.post("http://agent/", content=json.dumps(body))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.given.append(json.loads(await _body(receive)))
        run = self.runs[min(len(self.given), len(self.runs)) - 1]
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": plain(run)})


def runs() -> list[list[Json]]:
    """Runs that end well, in whose end nothing replaces their messages, and which httpx can post again: as UTF-8."""
    unlike = ("RUN_ERROR", "MESSAGES_SNAPSHOT")
    ended = [run for run in batch(messy(), 150) if not any(event["type"] in unlike for event in run)]
    return [run for run in ended if not LONE_SURROGATE.search(json.dumps(run, ensure_ascii=False))]


SECOND: list[Json] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "second", "delta": "bye"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r2"},
]


def recorded(bodies: Iterable[Json]) -> str:
    """Bodies that differ in more than values, as JSON: what the tests of `history/` read where the SDK is not installed."""
    by_form: dict[str, Json] = {}
    for body in bodies:
        form = [(message["role"], sorted(message), len(message.get("tool_calls", ()))) for message in body["messages"]]
        by_form.setdefault(str(form), body)
    return json.dumps([*by_form.values()][:12], indent=1) + "\n"


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += bytes(message.get("body", b""))
        if not message.get("more_body", False):
            return body


def _given_again(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Json:
        return next(messages, {"type": "http.disconnect"})

    return receive
