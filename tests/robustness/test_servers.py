"""Every server with every framework, over real sockets."""

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.robustness.agents import SEEN
from tests.robustness.exchange import events_of
from tests.robustness.frameworks import FRAMEWORKS, ON_TRIO
from tests.robustness.servers import COMMANDS, PLAIN, Server, running

# What shows in a server's log when something was left behind.
STRAY = re.compile(
    "never retrieved|never awaited|ignored GeneratorExit|was destroyed but it is pending|ResourceWarning"
)
# What a server does when the app sends on to a client that has left.
SENDING_ON = {
    "uvicorn-h11": "swallowed",
    "uvicorn-httptools": "swallowed",
    "hypercorn-asyncio": "swallowed",
    "hypercorn-trio": "swallowed",
    "granian": "swallowed",
}

SERVED = [(server, framework) for server in COMMANDS for framework in FRAMEWORKS]
RUNNABLE = [(server, framework) for server, framework in SERVED if not server.endswith("trio") or framework in ON_TRIO]
on_every_server = pytest.mark.parametrize("name", COMMANDS)
on_everything = pytest.mark.parametrize(("name", "framework"), RUNNABLE)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Server]]:
    """Each server, started when it is first asked for."""
    started: dict[str, Server] = {}
    with ExitStack() as stack:

        def start(name: str) -> Server:
            if name not in started:
                started[name] = stack.enter_context(running(name, tmp_path_factory.mktemp("server")))
            return started[name]

        yield start
        logs = [server.log for server in started.values()]
    for log in logs:
        assert not STRAY.search(log), log


@pytest.fixture
def server(servers: Callable[[str], Server], name: str) -> Server:
    return servers(name)


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return re.sub(r"\W", "-", request.node.name)


class Reading:
    """One stream, read as it arrives. To be closed."""

    def __init__(self, server: Server, path: str, key: str) -> None:
        self._client = httpx.Client(timeout=30, **PLAIN)
        request = self._client.build_request("POST", f"{server.url}{path}", params={"key": key}, json={})
        self.response = self._client.send(request, stream=True)
        self._chunks = self.response.iter_raw()
        self.read = b""

    def events(self, count: int) -> list[Any]:
        """The first `count` events, as soon as they are there."""
        while self.read.count(b"\n\n") < count:
            self.read += next(self._chunks)
        return events_of(self.read)[:count]

    def rest(self) -> list[Any]:
        self.read += b"".join(self._chunks)
        return events_of(self.read)

    def leave(self) -> None:
        self.response.close()
        self._client.close()


def shown_before_the_stop(visibility: str) -> int:
    return {"attributed": 8, "inline": 6, "hidden": 4}[visibility]


@on_everything
@pytest.mark.parametrize("visibility", SEEN)
def test_a_run_arrives_event_by_event(server: Server, framework: str, visibility: str, key: str) -> None:
    """The agent goes on only once the client has read what came before: whatever buffers would hang."""
    reading = Reading(server, f"/{framework}/{visibility}/agent", key)
    try:
        count = shown_before_the_stop(visibility)
        assert reading.events(count) == SEEN[visibility][:count]
        server.go_on(key)
        assert reading.rest() == SEEN[visibility]
        assert "content-length" not in reading.response.headers
    finally:
        reading.leave()
    journal = Counter(server.wait_for(key, "returned"))
    assert (journal["agent ended"], journal["filter ended"], journal["returned"]) == (1, 1, 1)


@on_everything
def test_a_client_that_leaves_ends_the_agent_and_the_filters_once(server: Server, framework: str, key: str) -> None:
    reading = Reading(server, f"/{framework}/inline/agent", key)
    reading.events(6)
    server.wait_for(key, "agent stopped")
    reading.leave()
    if framework == "asgi":  # looks out for nothing, and is told when it sends on
        server.go_on(key)
    journal = server.wait_for(key, "returned")
    ended = ["filter ended", "returned"] if framework == "django" else ["agent ended", "filter ended", "returned"]
    assert [what for what in journal if what in ended] == ended


@on_every_server
def test_how_a_disconnect_shows(server: Server, key: str) -> None:
    """`receive` tells, at once; what an app that did not ask sends afterwards is swallowed."""
    reading = Reading(server, "/starlette/inline/agent", f"{key}-listens")
    reading.events(6)
    reading.leave()
    assert "receive told" in server.wait_for(f"{key}-listens", "returned")

    reading = Reading(server, "/asgi/inline/agent", f"{key}-sends")
    reading.events(6)
    reading.leave()
    server.go_on(f"{key}-sends")
    journal = server.wait_for(f"{key}-sends", "returned")
    assert ("raised" if "send raised" in journal else "swallowed") == SENDING_ON[server.name]


@on_every_server
def test_many_streams_at_once_are_whole_and_leave_nothing_open(server: Server, key: str) -> None:
    """All of them are open before the first may go on."""
    count = 30
    before = server.file_descriptors()
    together = threading.Barrier(count)

    def stream(number: int) -> list[Any]:
        mine, visibility = f"{key}-{number}", list(SEEN)[number % 3]
        reading = Reading(server, f"/starlette/{visibility}/agent", mine)
        try:
            reading.events(shown_before_the_stop(visibility))
            together.wait(timeout=30)
            server.go_on(mine)
            return reading.rest()
        finally:
            reading.leave()

    with ThreadPoolExecutor(count) as pool:
        results = list(pool.map(stream, range(count)))
    assert results == [SEEN[list(SEEN)[number % 3]] for number in range(count)]
    for number in range(count):
        server.wait_for(f"{key}-{number}", "returned")
    server.wait_for_descriptors(before)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "granian"])
def test_a_server_that_shuts_down_unwinds_what_streams(name: str, key: str, tmp_path: Path) -> None:
    """granian cancels nothing: its process ends, and what streams in it with it."""
    with running(name, tmp_path) as server:
        reading = Reading(server, "/starlette/inline/agent", key)
        reading.events(6)
        server.wait_for(key, "agent stopped")
        server.stop()
        reading.leave()
    ended = [what for what in server.journal(key) if what.endswith("ended") or what == "returned"]
    assert ended == ["agent ended", "filter ended", "returned"]
    assert not STRAY.search(server.log), server.log
