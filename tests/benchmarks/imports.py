"""What importing the package takes, as a multiple of importing Starlette's routing and msgspec.

With their bytecode at hand, as an installed package has it: pip compiles what it installs. A checkout has none where
PYTHONDONTWRITEBYTECODE is set, and half of what importing it takes is then compiling it.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory

from tests.benchmarks.timing import Spread

FLOOR = "import msgspec, starlette.convertors, starlette.routing, starlette.types"
PACKAGE = "import agui_middleware"


def measure(rounds: int, package: str = PACKAGE) -> Spread:
    """The ratio, in interpreters of their own, which take turns."""
    with TemporaryDirectory() as bytecode:
        seconds: Callable[[str], float] = partial(_seconds, bytecode)
        for statement in (package, FLOOR):
            seconds(statement)  # compiles
        return Spread.of(seconds(package) / seconds(FLOOR) for _ in range(rounds))


def _seconds(bytecode: str, statement: str) -> float:
    code = f"import time\nbegun = time.perf_counter()\n{statement}\nprint(time.perf_counter() - begun)"
    command = [sys.executable, "-X", f"pycache_prefix={bytecode}", "-c", code]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
