"""Conversations of three turns with real clients over HTTP, behind real servers with a store: what their agents get.

    python -m tests.history.over_http                             # every release, a memory store
    python -m tests.history.over_http --store redis 0.0.36 0.0.58 # these; or sqlite: two workers share the store
    python -m tests.history.over_http --every 200 --timeout 1     # fewer streams; as much time as a store has by default

As `tests.history.remembered`, whose conversations, edits and reasons these are; nothing is measured beside the middleware.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware import AGUIMiddleware
from agui_middleware.history.record import Kept
from agui_middleware.history.store import Opened
from agui_middleware.history.stores import MemoryStore, in_use, opener
from agui_middleware.history.threads import COLLECTION, decoded, thread_key
from tests.clients.client import RELEASES, Client, Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import cases
from tests.downgrades.proof import prepare
from tests.history.remembered import EDITS, Exchange, converse, report
from tests.history.routes import ROUTES, Route
from tests.history.test_stores import redis_server
from tests.history.worker import body_of, settings
from tests.robustness.servers import free_port
from tests.strategies import Json

LOADED = 30.0  # seconds at most for what takes milliseconds on an idle machine
WORKERS = 2


class Agents:
    """An ASGI app with an agent a thread: `streams` are its next answers, `given` the bodies that it got, by thread."""

    def __init__(self) -> None:
        self.streams: dict[str, bytes] = {}
        self.given: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        thread = json.loads(body)["threadId"]
        self.given[thread] = body
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.streams[thread]})


class OverHttp:
    """Agents behind the middleware. `urls`: those of its servers, once it is entered; turns go to them one after the other.

    `store`: the URL of one that `WORKERS` processes share; `None` for one in the memory of this process.
    """

    def __init__(self, store: str | None = None, timeout: float = LOADED) -> None:
        self.agents = Agents()
        self.urls: list[str] = []
        self._url = store
        self._timeout = timeout
        self._memory = MemoryStore(1 << 30)

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Serve on loopback ports."""
        with ExitStack() as stack:
            if self._url is None:
                app = AGUIMiddleware(self.agents, settings(None, self._timeout), history=self._memory)
                self.urls = [stack.enter_context(_in_thread(app))]
            else:
                agents = stack.enter_context(_in_thread(self.agents))
                variables = {"AGENTS": agents, "STORE": self._url, "TIMEOUT": str(self._timeout)}
                ports = [stack.enter_context(_in_process(variables)) for _ in range(WORKERS)]
                self.urls = [_await_server(port) for port in ports]
            yield

    def kept(self, route: Route, threads: Sequence[str]) -> list[Kept | None]:
        """The records of threads."""
        return asyncio.run(self._kept([thread_key(None, f"/{route.name}", thread) for thread in threads]))

    async def _kept(self, keys: Sequence[str]) -> list[Kept | None]:
        opened = self._opened()
        records = [decoded(await opened.store.get(key, collection=COLLECTION)) for key in keys]
        await opened.close()
        return [None if record is None else record.kept for record in records]

    def _opened(self) -> Opened:
        open = in_use(self._memory) if self._url is None else opener(self._url, timeout=LOADED, memory_limit=0)
        return open()


@contextmanager
def _in_thread(app: ASGIApp) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(LOADED)


@contextmanager
def _in_process(variables: dict[str, str]) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--factory", "tests.history.worker:app", "--port", str(port)]
    command += ["--log-level", "error", "--lifespan", "off", "--timeout-graceful-shutdown", "1"]
    with subprocess.Popen(command, env={**os.environ, **variables}) as process:
        try:
            yield port
        finally:
            process.terminate()


def _await_server(port: int) -> str:
    deadline = time.monotonic() + LOADED
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return f"http://127.0.0.1:{port}"
    raise TimeoutError(f"nothing listens on {port}")


class Talk:
    """One client with several agents of a server, on one route; `name` tells its threads from others."""

    def __init__(self, server: OverHttp, client: Client, route: Route, name: str) -> None:
        self._server = server
        self._client = client
        self._route = route
        self._name = name
        self._turns = 0

    def answer(self, streams: Sequence[bytes], held: Sequence[list[Json]], states: Sequence[Any]) -> list[Exchange]:
        """See `remembered.Server`."""
        server, threads = self._server, [f"{self._name} {place}" for place in range(len(streams))]
        kept = server.kept(self._route, threads)
        server.agents.streams.update(zip(threads, streams, strict=True))
        self._turns += 1
        url = f"{server.urls[self._turns % len(server.urls)]}/{self._route.name}"
        ends = self._client.read_many(
            Run(b"", messages, state, url=url, thread=thread)
            for messages, state, thread in zip(held, states, threads, strict=True)
        )
        return [
            Exchange(_read_in_time(end, thread), server.agents.given.pop(thread), record)
            for end, thread, record in zip(ends, threads, kept, strict=True)
        ]


def _read_in_time(end: Outcome, thread: str) -> Outcome:
    """What a client that has given up holds is no history: so one was found that no fault of ours explains."""
    if end.error is not None and end.error.startswith("timeout:"):
        raise TimeoutError(f"{thread}: the client has given up ({end.error})")
    return end


@contextmanager
def store_url(kind: str) -> Iterator[str | None]:
    """The URL of a new store; `None` for `memory`."""
    if kind == "redis":
        with redis_server() as port:
            yield f"redis://127.0.0.1:{port}/0"
    elif kind == "sqlite":
        with tempfile.TemporaryDirectory() as place:
            yield f"sqlite://{Path(place)}/history.db"
    else:
        yield None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--store", default="memory", choices=["memory", "sqlite", "redis"])
    parser.add_argument("--every", type=int, default=40)
    parser.add_argument("--timeout", type=float, default=LOADED)
    options = parser.parse_args()
    prepare()
    with store_url(options.store) as url:
        server = OverHttp(url, options.timeout)
        with server.serve():
            for release in options.releases:
                _report(server, release, cases()[:: options.every])


def _report(server: OverHttp, release: str, chosen: Sequence[Any]) -> None:
    with Client(release, timeout=LOADED) as client, Client(REFERENCE) as reference:
        for route, edit in ((route, edit) for route in ROUTES for edit in EDITS):
            name = f"{release}, {route.name}, {edit.__name__}"
            talk = Talk(server, client, route, name)
            report(name, converse(client, reference, chosen, route, edit, talk))


if __name__ == "__main__":
    main()
