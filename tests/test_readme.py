"""The READMEs do what they say: that of the project, and those of the rooms. Their snippets run."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import pytest
from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from click.testing import CliRunner

from agui_middleware import Settings
from agui_middleware.cli import cli
from examples.agent import run
from tests.clients.client import HERE as CLIENTS
from tests.clients.client import Client
from tests.readme import CONFIG, DOWNGRADES_PAGE, README, with_readers, with_table

ROOT = README.parent
INPUT = {"threadId": "t", "runId": "r", "state": {}, "messages": [], "tools": [], "context": [], "forwardedProps": {}}


PAGES = [README, *sorted((ROOT / "agui_middleware").glob("*/README.md"))]


def blocks(language: str, page: Path) -> list[str]:
    """A page's code blocks in a language, in order."""
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text(), re.DOTALL | re.MULTILINE)


def of_all_pages(language: str) -> list[str]:
    """The code blocks of all pages in a language."""
    return [block for page in PAGES for block in blocks(language, page)]


def test_the_page_on_downgrades_has_the_table_of_the_rows() -> None:
    """`python -m tests.readme` writes it."""
    page = DOWNGRADES_PAGE.read_text()
    assert "| encrypted-value-types |" in page
    assert page == with_table(page)


def test_the_page_on_configuration_has_the_table_of_the_sdks() -> None:
    page = CONFIG.read_text()
    assert "| Dart | before 0.2.0 | 0.0.40 |" in page
    assert "- Dart: `ag_ui`\n" in page
    assert page == with_readers(page)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_block_is_of_a_language_that_is_run_here(page: Path) -> None:
    """`.ci/run` runs those of `sh`; the one of `js` is `examples/http_agent.mjs` in a bundle."""
    languages = set(re.findall(r"^```(.+)$", page.read_text(), re.MULTILINE))
    assert languages <= {"console", "js", "python", "sh", "toml"}
    assert page == README or "sh" not in languages


def test_the_readme_is_short_enough_to_be_read() -> None:
    assert len(README.read_text().splitlines()) < 250


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_python_blocks_run_one_after_the_other(page: Path) -> None:
    namespace: dict[str, object] = {"app": None}
    for snippet in blocks("python", page):
        exec(compile(ast.parse(snippet), str(page), "exec"), namespace)
    assert page != README or namespace["app"] is not None


@pytest.mark.parametrize("block", of_all_pages("toml"))
def test_toml_blocks_are_settings(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    in_pyproject = "tool" in tomllib.loads(block)
    Path("pyproject.toml" if in_pyproject else "agui_middleware.toml").write_text(block)
    assert Settings.load() != Settings()


@contextmanager
def served(app: str, environment: dict[str, str]) -> Iterator[str]:
    """An app under uvicorn, which picks a port: the address."""
    command = [sys.executable, "-m", "uvicorn", app, "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    assert process.stderr is not None
    try:
        lines = iter(process.stderr.readline, "")
        yield next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[[str], str]]:
    """Starts the server of a console command, once, and gives its address."""
    addresses: dict[str, str] = {}
    with ExitStack() as stack:

        def start(command: str) -> str:
            if command not in addresses:
                *settings, _, app = command.split()
                environment = dict(setting.split("=") for setting in settings)
                addresses[command] = stack.enter_context(served(app, environment))
            return addresses[command]

        yield start


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def console() -> Iterator[tuple[str, str, str]]:
    """The README's console: each command that prints something, with the server that was started last."""
    server = ""
    for block in of_all_pages("console"):
        for command, output in commands(block):
            if command.endswith(" &"):
                server = command.removesuffix(" &")
            else:
                yield server, command, output


CONSOLE = list(console())
NODE = [(server, command, output) for server, command, output in CONSOLE if command.startswith("node ")]


def test_every_command_is_run_here_or_cannot_be() -> None:
    others = [command for _, command, _ in CONSOLE if not command.startswith(("node ", "agui-middleware "))]
    assert all("…" in command for command in others)


@pytest.mark.parametrize(("server", "command", "output"), NODE, ids=[f"{s}: {c}" for s, c, _ in NODE])
def test_clients_print_what_the_readme_shows(
    client: Callable[[str], Client], serve: Callable[[str], str], server: str, command: str, output: str
) -> None:
    """An ellipsis stands for the rest of a line."""
    [_, script, release, url] = command.split()
    client(release)  # or skip
    words = ["node", script, release, re.sub(r"http://[^/]+", serve(server), url)]
    environment = {**os.environ, "CLIENTS": str(CLIENTS)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    shown = re.escape(output.strip()).replace("…", ".*")
    # A client that rejects a run has shown what came in an earlier chunk, of which there may be one.
    shown += r"(\n  assistant .*)?" if "rejected the run" in output else ""
    assert re.fullmatch(shown, done.stdout.strip()), done.stdout + done.stderr


SERVERS = ("agui-middleware demo", "agui-middleware proxy", "agui-middleware serve")  # tests of their own start these
OWN = [
    (command, output)
    for _, command, output in CONSOLE
    if command.startswith("agui-middleware ") and not command.startswith(SERVERS)
]


@pytest.mark.parametrize(("command", "output"), OWN, ids=[command for command, _ in OWN])
def test_the_command_line_prints_what_the_readme_shows(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ellipsis stands for the rest. `recorded.sse` is what the example's agent sends."""
    monkeypatch.chdir(tmp_path)
    recorded = anyio.run(recording)
    Path("recorded.sse").write_bytes(recorded)
    result = CliRunner().invoke(cli, command.split()[1:], input=recorded)
    assert result.exit_code in (0, 1), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    shown = re.escape(output.strip()).replace("…", ".*")
    # A client that rejects a run has shown what came in an earlier chunk, of which there may be one.
    shown += r"(\n  assistant .*)?" if "rejected the run" in output else ""
    assert not shown or re.fullmatch(shown, result.output.strip(), re.DOTALL), result.output


async def recording() -> bytes:
    """The stream of `examples.agent`."""
    encoder = EventEncoder()
    events = run(RunAgentInput.model_validate(INPUT))
    return "".join([encoder.encode(event) async for event in events]).encode()
