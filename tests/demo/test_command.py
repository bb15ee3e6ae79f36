"""`agui-middleware demo`, as a process of its own and in this one."""

import re
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner

from agui_middleware.cli import cli
from agui_middleware.cli.demo import listen


def test_one_command_serves_the_page() -> None:
    words = [sys.executable, "-m", "agui_middleware", "demo", "--no-open"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            assert address is not None
            with urllib.request.urlopen(address[0], timeout=30) as page:
                assert b"<h1>What each client receives</h1>" in page.read()
        finally:
            process.terminate()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses on which a server would have run."""
    ran: list[Any] = []

    def run(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        ran.extend(one.getsockname() for one in sockets)
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    return ran


def test_it_opens_a_browser_on_this_machine_only(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("threading.Thread", AtOnce)
    result = CliRunner().invoke(cli, ["demo"])
    [(host, port)] = ran
    assert (result.exit_code, host, opened) == (0, "127.0.0.1", [f"http://127.0.0.1:{port}/"])
    assert opened[0] in result.output


def test_it_opens_none_where_none_is_wanted(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("threading.Thread", AtOnce)
    result = CliRunner().invoke(cli, ["demo", "--no-open"])
    assert (result.exit_code, len(ran), opened) == (0, 1, [])


class AtOnce:
    """A thread that does what it is for when it is started."""

    def __init__(self, target: Any, args: Any, daemon: bool) -> None:
        self.start = lambda: target(*args)


def test_a_port_that_is_taken_is_named(ran: list[Any]) -> None:
    with listen(0) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(cli, ["demo", "--no-open", "--port", str(port)])
    assert (result.exit_code, ran) == (1, [])
    assert f"port {port} cannot be used: Address already in use; choose another with --port" in result.output


def test_it_says_what_it_needs_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(cli, ["demo", "--no-open"])
    assert result.exit_code == 1
    assert "pip install 'agui-middleware[demo]'" in result.output
