"""Conversations of three turns with real clients over HTTP, behind a real server with a store: what its agent gets.

    python -m tests.history.over_http                 # every release
    python -m tests.history.over_http 0.0.36 0.0.58   # these

As `tests.history.remembered`, whose conversations, edits and reasons these are; nothing is measured beside the middleware.
"""

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from agui_middleware import AGUIMiddleware, Settings
from agui_middleware import Route as Endpoint
from agui_middleware.history.record import Kept
from agui_middleware.history.stores import MemoryStore
from agui_middleware.history.threads import COLLECTION, decoded, thread_key
from tests.clients.client import RELEASES, Client, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import cases
from tests.downgrades.proof import prepare
from tests.history.remembered import EDITS, LIMIT, ROUTES, Exchange, Route, converse, report
from tests.strategies import Json

LOADED = 30.0  # seconds at most for what takes milliseconds on an idle machine


class Agents:
    """An ASGI app with an agent a thread: `streams` are its next answers, `given` the bodies that it got, by thread."""

    def __init__(self) -> None:
        self.streams: dict[str, bytes] = {}
        self.given: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        thread = json.loads(body)["threadId"]
        self.given[thread] = body
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.streams[thread]})


class OverHttp:
    """Agents behind the middleware and uvicorn, with a path a route. Its address is `url`, once it is entered."""

    def __init__(self) -> None:
        self.agents = Agents()
        self.store = MemoryStore(1 << 30)
        self.url = ""

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve on a loopback port, in a thread."""
        endpoints = [
            Endpoint.model_validate({"path": f"/{each.name}", "visibility": each.visibility, "filters": each.filters})
            for each in ROUTES
        ]
        settings = Settings(routes=endpoints, history_limit=LIMIT, history_timeout=LOADED)
        app = AGUIMiddleware(self.agents, settings, history=self.store)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            ready = threading.Event()
            while not server.started and thread.is_alive():
                ready.wait(0.01)
            self.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
            yield
        finally:
            server.should_exit = True
            thread.join(LOADED)

    def kept(self, route: Route, thread: str) -> Kept | None:
        """The record of a thread."""
        try:
            self.store.get(thread_key(None, f"/{route.name}", thread), collection=COLLECTION).send(None)
        except StopIteration as done:  # this store awaits nothing
            record = decoded(done.value)
            return None if record is None else record.kept
        raise AssertionError("it has awaited something")


class Talk:
    """One client with several agents of a server, on one route; `name` tells its threads from others."""

    def __init__(self, server: OverHttp, client: Client, route: Route, name: str) -> None:
        self._server = server
        self._client = client
        self._route = route
        self._name = name

    def answer(self, streams: Sequence[bytes], held: Sequence[list[Json]], states: Sequence[Any]) -> list[Exchange]:
        """See `remembered.Server`."""
        server, threads = self._server, [f"{self._name} {place}" for place in range(len(streams))]
        kept = [server.kept(self._route, thread) for thread in threads]
        server.agents.streams.update(zip(threads, streams, strict=True))
        url = f"{server.url}/{self._route.name}"
        ends = self._client.read_many(
            Run(b"", messages, state, url=url, thread=thread)
            for messages, state, thread in zip(held, states, threads, strict=True)
        )
        return [
            Exchange(end, server.agents.given[thread], record)
            for end, thread, record in zip(ends, threads, kept, strict=True)
        ]


def main(releases: Sequence[str]) -> None:
    prepare()
    server, chosen = OverHttp(), cases()[::40]
    with server.serve():
        for release in releases:
            with Client(release) as client, Client(REFERENCE) as reference:
                for route, edit in ((route, edit) for route in ROUTES for edit in EDITS):
                    name = f"{release}, {route.name}, {edit.__name__}"
                    talk = Talk(server, client, route, name)
                    report(name, converse(client, reference, chosen, route, edit, talk))


if __name__ == "__main__":
    main(sys.argv[1:] or RELEASES)
