"""The commands that serve: what they serve, and what they say when they cannot."""

import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from click.testing import CliRunner, Result

from agui_middleware.cli import cli
from agui_middleware.testing import encode_events
from tests.notation import stream
from tests.proxy.commands import command
from tests.proxy.servers import http
from tests.proxy.upstream import EVENTS, LAST, chunk, listening, whole
from tests.robustness.exchange import Exchange

SETTINGS = '[[routes]]\npath = "/public"\nvisibility = "hidden"\n'
TAGGED = encode_events(stream("RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; RF r"))
FIRST, REST = encode_events(stream("RS r")), encode_events(stream("TS m; TC m x; TE m; RF r"))
HIDDEN = encode_events(stream("RS r; RF r"))
APP = f"""
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

async def agent(_):
    return StreamingResponse(iter([{TAGGED!r}]), media_type="text/event-stream")

app = Starlette(routes=[Route("/public", agent, methods=["POST"])])
number = 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with an app and settings in it."""
    (tmp_path / "some_agent.py").write_text(APP)
    (tmp_path / "hide.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    return tmp_path


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What uvicorn was asked to run, instead of running it."""
    runs: list[dict[str, Any]] = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: runs.append({"app": app, **options}))
    return runs


def invoke(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, words, env=environment)


def test_serve_serves_the_app_as_the_settings_say(folder: Path) -> None:
    with command("serve", "some_agent:app", "--config", "hide.toml", folder=folder) as url:
        assert httpx.post(f"{url}/public", trust_env=False, verify=False).content == HIDDEN


async def test_proxy_serves_the_upstream_as_the_settings_say(folder: Path) -> None:
    (folder / "agui_middleware.toml").write_text(SETTINGS)  # which is read without being named
    async with listening() as upstream, http() as client, anyio.create_task_group() as tasks:

        async def respond() -> None:
            connection = await upstream.connection()
            await connection.send(whole(b"not found", b"server: node", b"date: then", status=b"404 Not Found"))
            await (await connection.head()).send(EVENTS + chunk(TAGGED) + LAST)
            await (await connection.head()).send(EVENTS + chunk(b"data: {"))
            await connection.stream.aclose()

        tasks.start_soon(respond)
        with command("proxy", folder=folder, AGUI_MIDDLEWARE_UPSTREAM=f"{upstream.url}/base") as url:
            missing = await client.get(url)
            assert (missing.status_code, missing.headers.get_list("server")) == (404, ["node"])
            assert missing.headers.get_list("date") == ["then"]
            assert (await client.post(f"{url}/public")).content == HIDDEN
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
                await client.post(f"{url}/public")
    log = (folder / "log").read_text()
    assert f"the upstream broke off a response to POST {upstream.url}/base/public" in log
    assert "Traceback" not in log


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("serve", "nowhere:app"), 'Could not import module "nowhere"'),
        (("serve", "some_agent:nothing"), 'Attribute "nothing" not found in module "some_agent"'),
        (("serve", "some_agent"), 'must be in format "<module>:<attribute>"'),
        (("serve", "some_agent:number"), "'some_agent:number' is not an ASGI app: it cannot be called"),
        (("serve", "some_agent:app", "--port", "65536"), "65536 is not in the range 0<=x<=65535"),
        (("serve", "some_agent:app", "--config", "nowhere.toml"), "'nowhere.toml' does not exist"),
        (("proxy",), "Missing option '--upstream'"),
        (("proxy", "--upstream", "agent:3000"), "'agent:3000' is not of the form 'http://host:port/path'"),
        (
            ("proxy", "--upstream", "https://agent", "--ca-file", "some_agent.py"),
            "some_agent.py has no certificate in PEM",
        ),
        (("proxy", "--upstream", "http://agent", "--connect-timeout", "0"), "0.0 is not in the range x>0"),
    ],
)
def test_wrong_words_say_what_is_allowed(folder: Path, words: tuple[str, ...], said: str) -> None:
    result = invoke(*words)
    assert result.exit_code == 2
    assert said.casefold() in " ".join(result.output.split()).casefold()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            '[[routes]]\nvisibility = "none"',
            "'attributed', 'inline' or 'hidden' (in wrong.toml); the value is 'none'",
        ),
        (
            'default_client = "new"',
            "or an SDK with its version, such as 'ag_ui@0.2.0' (in wrong.toml); the value is 'new'",
        ),
        (
            "max_event_bytes = 0\nother = 1",
            "greater than 0 (in wrong.toml); the value is 0",
        ),
        ("max_event_bytes = 0\nother = 1", "other: There is no such field; allowed: routes, headers, default_client, "),
        ('[[routes]]\nfilters = ["mine"]', "routes.0.filters.0: no filter is named 'mine'"),
        ("routes = ", "wrong.toml is not TOML: Invalid value"),
    ],
)
def test_wrong_settings_name_the_field_and_what_it_allows(folder: Path, settings: str, said: str) -> None:
    (folder / "wrong.toml").write_text(settings)
    for words in (("serve", "some_agent:app"), ("proxy", "--upstream", "http://agent")):
        result = invoke(*words, "--config", "wrong.toml")
        assert result.exit_code == 2
        assert said in result.output


def test_filters_are_found_in_the_working_directory(
    folder: Path, served: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an installed script is run, to which Python does not give that directory."""
    (folder / "own.toml").write_text('[[routes]]\nfilters = ["filters_of_the_proxy:mine"]\n')
    (folder / "filters_of_the_proxy.py").write_text(
        "from agui_middleware.filters.reasoning import without_reasoning as mine\n"
    )
    for words in (("serve", "some_agent:app"), ("proxy", "--upstream", "http://agent")):
        monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
        monkeypatch.delitem(sys.modules, "filters_of_the_proxy", raising=False)
        assert invoke(*words, "--config", "own.toml").exit_code == 0
    assert len(served) == 2


def test_wrong_settings_of_the_environment_are_named(folder: Path) -> None:
    result = invoke("serve", "some_agent:app", AGUI_MIDDLEWARE_ROUTES="[")
    assert result.exit_code == 2
    assert 'error parsing value for field "routes"' in result.output
    assert "AGUI_MIDDLEWARE_ROUTES are JSON: Expecting value" in result.output


def test_a_file_that_is_read_unnamed_is_named_where_it_is_wrong(folder: Path) -> None:
    (folder / "agui_middleware.toml").write_text("routes = ")
    result = invoke("serve", "some_agent:app")
    assert result.exit_code == 2
    assert "agui_middleware.toml is not TOML: Invalid value" in result.output


def test_a_file_that_is_named_is_the_only_one(folder: Path, served: list[dict[str, Any]]) -> None:
    """The environment comes before it, and a pyproject.toml can be named too."""
    (folder / "agui_middleware.toml").write_text("warn = false\n")
    (folder / "pyproject.toml").write_text("[tool.agui_middleware]\nmax_event_bytes = 5\n")
    for config in ("hide.toml", "pyproject.toml"):
        invoke("serve", "some_agent:app", "--config", config, AGUI_MIDDLEWARE_DEBUG="true")
    first, second = (run["app"].settings for run in served)
    assert (first.warn, first.debug, first.max_event_bytes > 5) == (True, True, True)
    assert [route.path for route in first.routes] == ["/public"]
    assert (second.warn, second.debug, second.max_event_bytes) == (True, True, 5)


def test_options_come_from_the_environment_too(folder: Path, served: list[dict[str, Any]]) -> None:
    given = {"UPSTREAM": "http://agent", "HOST": "0.0.0.0", "PORT": "80", "IDLE_TIMEOUT": "0"}
    environment = {f"AGUI_MIDDLEWARE_{name}": value for name, value in given.items()}
    assert invoke("proxy", **environment).exit_code == 0
    [run] = served
    assert (run["host"], run["port"]) == ("0.0.0.0", 80)


def test_a_port_that_is_taken_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = ["serve", "some_agent:app", "--port", str(taken.getsockname()[1])]
        result = subprocess.run([sys.executable, "-m", "agui_middleware", *words], capture_output=True, text=True)
    assert result.returncode in (1, 3)  # which it is is uvicorn's affair
    assert "address already in use" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (("serve", "some_agent:app"), "uvicorn"),
        (("proxy", "--upstream", "http://agent"), "uvicorn"),
        (("proxy", "--upstream", "http://agent"), "httpx"),
    ],
)
def test_what_is_not_installed_is_named(words: tuple[str, ...], missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith((missing, "agui_middleware.proxy"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    result = invoke(*words)
    assert result.exit_code == 1
    assert result.output == f"Error: this needs {missing}: pip install 'agui-middleware[proxy]'\n"


def test_what_is_missing_in_the_extra_itself_is_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "uvicorn.importer", raising=False)
    monkeypatch.setitem(sys.modules, "importlib", None)
    with pytest.raises(ModuleNotFoundError, match="importlib"):
        CliRunner().invoke(cli, ("serve", "some_agent:app"), catch_exceptions=False)


async def test_an_upstream_that_breaks_off_leaves_no_traceback(served: list[dict[str, Any]]) -> None:
    """The response just has no end, which a server makes its client see."""
    async with listening() as upstream, anyio.create_task_group() as tasks:

        async def break_off() -> None:
            connection = await upstream.connection()
            await connection.send(EVENTS + chunk(TAGGED))
            await connection.stream.aclose()

        tasks.start_soon(break_off)
        assert invoke("proxy", "--upstream", upstream.url).exit_code == 0
        exchange = await Exchange().run(served[0]["app"])
    assert exchange.body == TAGGED
    assert not exchange.complete


# Silence. The agent goes on once the client has read two comments, so that nothing waits for a time of its own.

KEPT_ALIVE = 'keep_alive = 0\n[[routes]]\npath = "/public"\nkeep_alive = 0.1\n'
COMMENTS = b":\n\n" * 2
SILENT_APP = f"""
import anyio
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

silence = anyio.Event()

async def events():
    yield {FIRST!r}
    await silence.wait()
    yield {REST!r}

async def agent(_):
    return StreamingResponse(events(), media_type="text/event-stream")

async def go_on(_):
    silence.set()
    return Response()

app = Starlette(routes=[Route("/public", agent, methods=["POST"]), Route("/go-on", go_on, methods=["POST"])])
"""


async def read_kept_alive(client: httpx.AsyncClient, url: str, go_on: Callable[[], Awaitable[object]]) -> bytes:
    """The stream without its comments, of which two have to come before `go_on` is called."""
    got, silent = b"", True
    async with client.stream("POST", f"{url}/public") as response:
        async for part in response.aiter_raw():
            got += part
            if silent and COMMENTS in got:
                assert got.startswith(FIRST)
                silent = False
                await go_on()
    assert not silent
    return got.replace(b":\n\n", b"")


async def test_serve_keeps_a_silent_run_alive_as_its_route_says(folder: Path) -> None:
    (folder / "silent_agent.py").write_text(SILENT_APP)
    (folder / "agui_middleware.toml").write_text(KEPT_ALIVE)
    async with http() as client:
        with command("serve", "silent_agent:app", folder=folder) as url:
            assert await read_kept_alive(client, url, lambda: client.post(f"{url}/go-on")) == FIRST + REST


async def test_proxy_keeps_a_silent_run_alive_as_its_route_says(folder: Path) -> None:
    (folder / "agui_middleware.toml").write_text(KEPT_ALIVE)
    async with listening() as upstream, http() as client, anyio.create_task_group() as tasks:
        silence = anyio.Event()

        async def go_on() -> None:
            silence.set()

        async def respond() -> None:
            connection = await upstream.connection()
            await connection.send(EVENTS + chunk(FIRST))
            await silence.wait()
            await connection.send(chunk(REST) + LAST)

        tasks.start_soon(respond)
        with command("proxy", folder=folder, AGUI_MIDDLEWARE_UPSTREAM=upstream.url) as url:
            assert await read_kept_alive(client, url, go_on) == FIRST + REST
