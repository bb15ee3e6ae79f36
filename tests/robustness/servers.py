"""Real servers in processes of their own, on a loopback port, serving `tests.robustness.served` or another app."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx

from tests.robustness.frameworks import missing

APP = "tests.robustness.served:app"
COMMANDS: dict[str, list[str]] = {
    "uvicorn-h11": ["uvicorn", "--http", "h11", "--loop", "asyncio", "--timeout-graceful-shutdown", "1"],
    "uvicorn-httptools": ["uvicorn", "--http", "httptools", "--loop", "uvloop", "--timeout-graceful-shutdown", "1"],
    "hypercorn-asyncio": ["hypercorn", "-k", "asyncio", "--graceful-timeout", "1"],
    "hypercorn-trio": ["hypercorn", "-k", "trio", "--graceful-timeout", "1"],
    "granian": ["granian", "--interface", "asgi", "--loop", "asyncio", "--workers-kill-timeout", "10"],
}
PLAIN: dict[str, Any] = {"verify": False, "trust_env": False}  # loading certificates takes longer than a test
UP = 120.0  # seconds at most, on a machine that has better things to do


class Server:
    """A running server. `journal(key)` is what happened to one request, in order."""

    def __init__(self, name: str, folder: Path, app: str = APP, options: Sequence[str] = ()) -> None:
        if find_spec(COMMANDS[name][0]) is None:
            missing(f"{COMMANDS[name][0]} is not installed")
        self.name = name
        self.on_trio = name.endswith("trio")
        self._log, self._journal = folder / "log", folder / "journal"
        self._journal.touch()
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-X", "dev", "-m", *COMMANDS[name], *options, *self._bind(port), app]
        with self._log.open("wb") as log:
            environment = {**os.environ, "AGUI_JOURNAL": str(self._journal)}
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def _bind(self, port: int) -> list[str]:
        if self.name.startswith("hypercorn"):
            return ["--bind", f"127.0.0.1:{port}"]
        return ["--host", "127.0.0.1", "--port", str(port)]

    def wait_until_up(self) -> None:
        """Until it answers. Fails with its log where it does not."""
        deadline = time.monotonic() + UP
        while True:
            try:
                httpx.get(self.url, **PLAIN)
                return
            except httpx.TransportError:
                assert self._process.poll() is None, self.log
                assert time.monotonic() < deadline, self.log
                time.sleep(0.05)

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def journal(self, key: str) -> list[str]:
        notes = [line.split(" ", 1) for line in self._journal.read_text().splitlines()]
        return [what for noted, what in notes if noted == key]

    def wait_for(self, key: str, what: str) -> list[str]:
        """The journal of a request, once `what` is in it."""
        deadline = time.monotonic() + UP
        while what not in self.journal(key):
            assert time.monotonic() < deadline, (self.journal(key), self.log)
            time.sleep(0.01)
        return self.journal(key)

    def wait_for_descriptors(self, limit: int) -> None:
        """Until no more than so many are open: a server closes a connection when it comes to it."""
        deadline = time.monotonic() + UP
        while (count := self.file_descriptors()) > limit:
            assert time.monotonic() < deadline, f"{count} file descriptors are open"
            time.sleep(0.05)

    def file_descriptors(self) -> int:
        """Of the process that serves: granian's is a child of the one that was started."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return max(len(os.listdir(f"/proc/{pid}/fd")) for pid in (self._process.pid, *children))

    def go_on(self, key: str) -> None:
        httpx.post(f"{self.url}/go-on", params={"key": key}, **PLAIN)

    def stop(self) -> None:
        """Ask it to stop, as an operator does, and kill it only if it does not."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(UP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise


@contextmanager
def running(name: str, folder: Path, app: str = APP, options: Sequence[str] = ()) -> Iterator[Server]:
    server = Server(name, folder, app, options)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
