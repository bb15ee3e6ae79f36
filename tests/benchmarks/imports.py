"""What importing the package takes, as a multiple of importing Starlette's routing and msgspec."""

import subprocess
import sys

from tests.benchmarks.timing import Spread

FLOOR = "import msgspec, starlette.convertors, starlette.routing, starlette.types"
PACKAGE = "import agui_middleware"


def measure(rounds: int) -> Spread:
    """The ratio, in interpreters of their own, which take turns."""
    return Spread.of(_seconds(PACKAGE) / _seconds(FLOOR) for _ in range(rounds))


def _seconds(statement: str) -> float:
    code = f"import time\nbegun = time.perf_counter()\n{statement}\nprint(time.perf_counter() - begun)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
