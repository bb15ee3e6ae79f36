"""Commands whose standard input or output is closed: no traceback, and the exit status 2."""

import os
import shlex
import subprocess
import sys

import pytest

from agui_middleware.cli.streams import Input, escaped, standard_streams

COMMAND = f"{shlex.quote(sys.executable)} -m agui_middleware"
STREAM = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'


def run(line: str, input: bytes = STREAM) -> tuple[int, bytes]:
    done = subprocess.run(["bash", "-c", line], input=input, capture_output=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", ["check --client 0.0.58", "rewrite"])
def test_closed_streams_end_a_command_quietly(words: str) -> None:
    closed = b"Error: there is nothing to read: standard input is closed\n"
    assert run(f"{COMMAND} {words} <&-") == (2, closed)
    assert run(f"{COMMAND} {words} >&-") == (2, b"")
    assert run(f"set -o pipefail; {COMMAND} {words} | exec <&-; exit ${{PIPESTATUS[0]}}") == (2, b"")


def test_an_error_of_reading_or_writing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit, standard_streams():
        raise IsADirectoryError(21, "Is a directory")
    assert (exit.value.code, capsys.readouterr().err) == (2, "Error: [Errno 21] Is a directory\n")


def test_a_broken_pipe_says_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        with pytest.raises(SystemExit) as exit, standard_streams():
            output.write("x")
    assert (exit.value.code, capsys.readouterr().err) == (2, "")


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_closed_streams_are_none_to_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, name, None)
    with pytest.raises(SystemExit) as exit, standard_streams():
        Input().convert("-", None, None)
    assert exit.value.code == 2


def test_what_is_escaped() -> None:
    assert escaped("é \x1b[0m\n\u202e\ud800") == r"é \x1b[0m\n\u202e\ud800"
