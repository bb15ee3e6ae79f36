"""`agui-middleware serve` and `proxy` as processes of their own."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_RUNNING = re.compile("Uvicorn running on (http://[^ ]+)")


@contextmanager
def command(*words: str, folder: Path, **environment: str) -> Iterator[str]:
    """Run the command on a free port, and stop it as an operator does. Gives its URL once it listens."""
    line = [sys.executable, "-W", "error", "-m", "agui_middleware", *words, "--port", "0"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            line, stderr=subprocess.PIPE, text=True, cwd=folder, env={**os.environ, **environment}
        ) as process,
    ):
        assert process.stderr is not None  # as asked for
        try:
            yield _url(process.stderr, log)
        finally:
            process.terminate()
            log.write(process.stderr.read())
            process.wait()


def _url(stderr: "Iterator[str]", log: object) -> str:
    lines = []
    for said in stderr:
        lines.append(said)
        if found := _RUNNING.search(said):
            return found[1]
    raise AssertionError("".join(lines))
