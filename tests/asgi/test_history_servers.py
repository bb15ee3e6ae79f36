"""Conversations of real clients with real servers and real stores, over sockets: several workers, restarts, lost stores."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.asgi.test_server import PATIENCE, http
from tests.clients.client import Client, Outcome, Run
from tests.history.test_stores import redis_server


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def server(store: str, workers: int = 1, **variables: str) -> Iterator[str]:
    """uvicorn, once it answers."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "tests.asgi.history_app:app", "--port", str(port)]
    command += ["--workers", str(workers), "--log-level", "critical", "--timeout-graceful-shutdown", "1"]
    environment = {**os.environ, "AGUI_MIDDLEWARE_HISTORY": store, **variables}
    with subprocess.Popen(command, env=environment) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            _await_answer(f"{url}/ping")
            yield url
        finally:
            process.terminate()


def _await_answer(url: str) -> None:
    deadline = time.monotonic() + 6 * PATIENCE
    while time.monotonic() < deadline:
        try:
            httpx.get(url, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(url)


def says(turn: int) -> dict[str, Any]:
    return {"id": f"u{turn}", "role": "user", "content": "go on"}


def say(client: Client, url: str, before: Outcome | None = None) -> Outcome:
    """The next turn of a conversation."""
    held = before.messages if before is not None else []
    turn = sum(message["role"] == "user" for message in held) + 1
    [outcome] = client.read_many([Run(b"", [*held, says(turn)], url=url, thread=client.release)])
    assert outcome.accepted, outcome.error
    return outcome


def given(
    turn: int, restored: Callable[[int], bool] = lambda _: True, *, shown: bool = False
) -> list[list[str | None]]:
    """What the agent is given in a turn; where nothing is restored, what the client holds of that turn."""
    history: list[list[str | None]] = []
    for earlier in range(1, turn):
        history.append([f"u{earlier}", None])
        if restored(earlier):
            history.append([f"n{earlier}", "s"])
        history.append([f"m{earlier}", None])
    return [*history, [f"u{turn}", None]]


def test_workers_share_a_file_which_outlives_them(client: Callable[[str], Client], tmp_path: Path) -> None:
    store = f"sqlite://{tmp_path}/history.db"
    talks = [(client(release), path) for release in ("0.0.36", "0.0.45", "0.0.58") for path in ("inline", "hidden")]
    ends: dict[tuple[Client, str], Outcome] = {}
    pids = set()
    with server(store, workers=4) as url:
        for turn in range(1, 4):
            for reader, path in talks:
                end = ends[reader, path] = say(reader, f"{url}/{path}", ends.get((reader, path)))
                assert end.state["given"] == given(turn), (reader.release, path)
                pids.add(end.state["pid"])
    assert len(pids) > 1
    with server(store) as url:
        for (reader, path), end in ends.items():
            assert say(reader, f"{url}/{path}", end).state["given"] == given(4), (reader.release, path)


def test_a_redis_that_dies_and_comes_back(client: Callable[[str], Client]) -> None:
    """While it is away a turn starts as posted, and what it says is not kept; what was kept before it died is lost too."""
    reader, port = client("0.0.45"), free_port()
    with server(f"redis://127.0.0.1:{port}/0") as url:
        with redis_server(port):
            first = say(reader, f"{url}/hidden")
            second = say(reader, f"{url}/hidden", first)
        third = say(reader, f"{url}/hidden", second)
        with redis_server(port):
            fourth = say(reader, f"{url}/hidden", third)
            fifth = say(reader, f"{url}/hidden", fourth)
    assert second.state["given"] == given(2)
    assert third.state["given"] == given(3, lambda _: False)
    assert fourth.state["given"] == given(4, lambda _: False)
    assert fifth.state["given"] == given(5, lambda turn: turn == 4)


async def test_a_client_that_leaves_in_mid_stream_finds_its_thread_kept(tmp_path: Path) -> None:
    headers = {"x-ag-ui-client-version": "0.0.58"}
    body: dict[str, Any] = {"threadId": "t", "runId": "r", "tools": [], "context": [], "state": {}}
    with server(f"sqlite://{tmp_path}/history.db") as url:
        waits = {**body, "messages": [says(1)], "forwardedProps": {"waits": True}}
        async with http() as one, one.stream("POST", f"{url}/hidden", headers=headers, json=waits) as response:
            async for chunk in response.aiter_raw():
                if b"TEXT_MESSAGE_END" in chunk:
                    break
        later = {**body, "messages": [says(1), {"id": "m1", "role": "assistant", "content": "hi"}, says(2)]}
        # The server may learn later that the client has left.
        async with http() as other:
            response = await other.post(f"{url}/hidden", headers=headers, json={**later, "forwardedProps": {}})
        assert '"given":[["u1",null],["n1","s"],["m1",null],["u2",null]]' in response.text
