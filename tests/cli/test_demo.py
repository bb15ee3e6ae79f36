"""`agui-middleware demo`, as a process of its own and in this one."""

import re
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner, Result

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


def test_an_interrupt_ends_it_in_silence(ran: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """uvicorn raises what it was stopped by again, and click wrote "Aborted!"."""

    def interrupted(self: uvicorn.Server, sockets: list[socket.socket]) -> None:
        sockets[0].close()
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", interrupted)
    result = demo()
    assert (result.exit_code, result.stderr) == (0, "")


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


def demo(**environment: str) -> Result:
    return CliRunner().invoke(cli, ["demo", "--no-open"], env=environment)


@pytest.mark.parametrize("file", ["agui_middleware.toml", "pyproject.toml"])
@pytest.mark.parametrize(
    "content",
    [b"routes = ", b"tool = 7", b"[tool.agui_middleware]\nunknown = 1", b"unknown = 1", b"name = '\xff'"],
)
def test_it_reads_no_settings_of_the_project_in_which_it_is_started(
    ran: list[Any], file: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with a traceback where a file there was broken."""
    (tmp_path / file).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    result = demo()
    assert (result.exit_code, len(ran)) == (0, 1), result.output


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DEFAULT_CLIENT", "new", "default_client: expected 'current', a release of @ag-ui/client, such as '0.0.58', "),
        (
            "MAX_EVENT_BYTES",
            "0",
            "max_event_bytes: Input should be greater than 0 (in AGUI_MIDDLEWARE_MAX_EVENT_BYTES)",
        ),
        ("ROUTES", "[", 'error parsing value for field "routes"'),
        (
            "CLIENT",
            "0.0.58",
            "the environment variable AGUI_MIDDLEWARE_CLIENT is unknown; allowed: AGUI_MIDDLEWARE_ROUTES,",
        ),
    ],
)
def test_a_wrong_variable_is_named_in_one_line(ran: list[Any], name: str, value: str, said: str) -> None:
    """It ended with a traceback, behind the address of a page that was never served."""
    result = demo(**{f"AGUI_MIDDLEWARE_{name}": value})
    assert (result.exit_code, ran, result.stdout) == (1, [], "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"Error: {said}"), line
