"""Reads event streams with the published releases of @ag-ui/client, one Node process a release.

    with Client("0.0.58") as client:
        outcome = client.read(stream)
    assert outcome.accepted, outcome.error

The releases are those of package.json; `npm ci --prefix tests/clients` installs them all side by side.
"""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread, Timer
from types import TracebackType
from typing import Any, NamedTuple, Self

HERE = Path(__file__).parent
ALIAS = "ag-ui-client-"
INSTALL = "npm ci --prefix tests/clients"

# Node takes about half a second to load a release; the rest is for a machine that has better things to do.
START_UP = 30.0

UUID4 = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def order(release: str) -> tuple[list[int], bool, str]:
    """A sort key that puts releases in the order of their versions, a prerelease before what it prepares."""
    number, _, prerelease = release.partition("-")
    return [int(part) for part in number.split(".")], not prerelease, prerelease


def _declared() -> tuple[str, ...]:
    dependencies = json.loads((HERE / "package.json").read_text())["dependencies"]
    return tuple(sorted((alias.removeprefix(ALIAS) for alias in dependencies), key=order))


RELEASES: tuple[str, ...] = _declared()


class NotInstalledError(RuntimeError):
    """Node or a release is missing; the message names the command that helps."""


class ClientDiedError(RuntimeError):
    """The process of a release ended, or had to be ended, before it had answered."""


class RunError(NamedTuple):
    """The members of a RUN_ERROR that a client passed on."""

    message: str | None
    code: str | None


@dataclass(frozen=True, slots=True)
class Run:
    """One run: the body of the response, and what the application held when it asked for it.

    `chunks` are the sizes in bytes of the reads the client gets, the last one repeated; without them it gets the
    body in one read. `stalled` leaves the connection open behind the last byte, so that the run ends by timeout
    with what the client had put together so far. `url`: the server that answers, in place of `stream`; it is told the
    release in the header that names it. `parameters`: `forwardedProps` and `resume`, as the application gives them to the
    run.
    """

    stream: bytes
    messages: Sequence[Mapping[str, Any]] = ()
    state: Any = None
    chunks: Sequence[int] = ()
    stalled: bool = False
    url: str | None = None
    thread: str = "t"
    parameters: Mapping[str, Any] | None = None

    def request(self, id: int) -> bytes:
        """The run as a line for the harness; a state of None is the application's usual first state, `{}`."""
        request: dict[str, Any] = {"id": id, "stream": base64.b64encode(self.stream).decode(), "stalled": self.stalled}
        request["messages"] = list(self.messages)
        if self.state is not None:
            request["state"] = self.state
        if self.url is not None:
            request |= {"url": self.url, "threadId": self.thread}
        if self.parameters is not None:
            request["parameters"] = self.parameters
        if self.chunks:
            request["chunks"] = list(self.chunks)
        return json.dumps(request).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended for the application.

    `messages` and `state` are the agent's own at the end, also of a run that was rejected. `run_error` stays None on
    releases up to 0.0.30, which tell nobody, and `result` too; `interrupts` are kept since 0.0.54. Up to 0.0.30 a run
    that changes neither messages nor state is rejected with "no elements in sequence". `posted` is the body of the
    client's request. `asked` are the values of the CUSTOM events `on_interrupt`, since 0.0.34.
    """

    accepted: bool
    error: str | None
    messages: list[dict[str, Any]]
    state: Any
    run_error: RunError | None
    result: Any
    interrupts: list[dict[str, Any]]
    posted: str = field(default="", compare=False)
    asked: Sequence[Any] = field(default=(), compare=False)

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Raise AssertionError when the harness, and not the release, failed."""
        end = json.loads(line)
        assert "failure" not in end, end["failure"]
        run_error = end["runError"] and RunError(**end["runError"])
        kept = {name: end[name] for name in end.keys() - {"id", "runError"}}
        return cls(run_error=run_error, **kept)

    def ends_like(self, other: "Outcome") -> bool:
        """Whether the application holds the same messages and state, up to the ids that a client has minted.

        Minted are random ids that only one of the two outcomes holds (0.0.45 and 1.0.0 make messages of THINKING_*).
        The comparison is one of JSON texts, because Python takes True for 1.
        """
        ours, theirs = self._end(), other._end()
        minted = set(UUID4.findall(ours)) ^ set(UUID4.findall(theirs))
        return _renamed(ours, minted) == _renamed(theirs, minted)

    def _end(self) -> str:
        return json.dumps([self.messages, self.state], sort_keys=True)


def _renamed(text: str, minted: set[str]) -> str:
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        id = match[0]
        return names.setdefault(id, f"minted-{len(names)}") if id in minted else id

    return UUID4.sub(name, text)


class Client:
    """A process that serves one release, until it is closed. Not for several threads at once.

    `timeout` (seconds) bounds one run; a run that exceeds it is rejected. Raises NotInstalledError.
    """

    def __init__(self, release: str, *, timeout: float = 10.0) -> None:
        node = shutil.which("node")
        if node is None:
            raise NotInstalledError(f"Node is not installed; then: {INSTALL}")
        if not (HERE / "node_modules" / f"{ALIAS}{release}" / "package.json").is_file():
            raise NotInstalledError(f"@ag-ui/client {release} is not installed: {INSTALL}")
        self.release = release
        self._timeout = timeout
        command = [node, str(HERE / "harness.mjs"), release, str(round(timeout * 1000))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(
        self,
        stream: bytes,
        *,
        messages: Sequence[Mapping[str, Any]] = (),
        state: Any = None,
        chunks: Sequence[int] = (),
        stalled: bool = False,
    ) -> Outcome:
        """The outcome of one Run. Raises ClientDiedError."""
        return self.read_many([Run(stream, messages, state, chunks, stalled)])[0]

    def read_many(self, runs: Iterable[Run | bytes]) -> list[Outcome]:
        """The outcomes of independent runs, each by an agent of its own, in their order. Raises ClientDiedError."""
        lines = [(run if isinstance(run, Run) else Run(run)).request(id) for id, run in enumerate(runs)]
        # The harness bounds what waits; only a release in an endless loop gets as far as this.
        kill = Timer(START_UP + self._timeout * len(lines), self._process.kill)
        # Both pipes fill up when requests and answers are large: neither side may wait for the other to read.
        writer = Thread(target=self._write, args=(lines,))
        kill.start()
        writer.start()
        try:
            answers = [self._readline() for _ in lines]
        finally:
            kill.cancel()
            writer.join()
        return [Outcome.parse(answer) for answer in answers]

    def _write(self, lines: list[bytes]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the reading side reports it, and knows the exit code
            self._process.stdin.writelines(lines)
            self._process.stdin.flush()

    def _readline(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ClientDiedError(f"@ag-ui/client {self.release}: Node ended with {self._process.wait()}")
        return line

    def close(self) -> None:
        """End the process; may be called again."""
        with suppress(BrokenPipeError):
            self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


class Clients:
    """The clients of one test session: each release starts when it is first asked for, all end with the context."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._started: dict[str, Client] = {}

    def __call__(self, release: str) -> Client:
        """Raises NotInstalledError."""
        if release not in self._started:
            self._started[release] = self._stack.enter_context(Client(release))
        return self._started[release]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._stack.close()
