"""Instructions a request, as callgrind counts them: the same on a loaded machine as on an idle one, unlike time.

`python -m tests.benchmarks.request_instructions [CASE ...]` prints what each case of `requests` adds, as instructions and in
matches of one route.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator

from tests.benchmarks.instructions import COLLECTED
from tests.benchmarks.requests import cases, matching
from tests.benchmarks.timing import Turn

TURNS = (1, 2)  # the first one warms up: the interpreter specialises its instructions, and caches fill
REPEATED = 150
_MATCH = "match"


def measure(names: Iterable[str] = ()) -> dict[str, int]:
    """Instructions that a request of each case takes more than without the middleware, and those of `match`."""
    run = [sys.executable, "-m", "tests.benchmarks.request_instructions", "--run", *names]
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *run]
    told = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": "0"}, check=True)
    collected = {int(pid): int(count) for pid, count in COLLECTED.findall(told.stderr)}
    counts: dict[tuple[str, str, int], int] = {}
    for line in told.stdout.splitlines():
        pid, name, side, turns = line.split("\t")
        counts[name, side, int(turns)] = collected[int(pid)]

    def a_request(name: str, side: str) -> float:
        few, many = (counts[name, side, turns] for turns in TURNS)
        return (many - few) / REPEATED

    return {
        name: round(a_request(name, "having") - (a_request(name, "lacking") if name != _MATCH else 0))
        for name in dict.fromkeys(name for name, _, _ in counts)
    }


def _run(names: list[str]) -> Iterator[tuple[int, str, str, int]]:
    """Each count is of a process of its own, forked where all that is imported has been: importing takes valgrind long."""
    turns: dict[tuple[str, str], Turn] = {(_MATCH, "having"): matching(REPEATED)}
    for name, (having, lacking) in cases(REPEATED).items():
        if not names or name in names:
            turns |= {(name, "having"): having, (name, "lacking"): lacking}
    for (name, side), take in turns.items():
        for count in TURNS:
            pid = os.fork()
            if pid == 0:
                asyncio.run(_taken(take, count))
                os._exit(0)
            os.waitpid(pid, 0)
            yield pid, name, side, count


async def _taken(take: Turn, turns: int) -> None:
    for _ in range(turns):
        await take()


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--run"]:
        for counted_in in _run(arguments[1:]):
            print(*counted_in, sep="\t", flush=True)
        return
    counted = measure(arguments)
    match = counted.pop(_MATCH)
    print(f"one match of a route: {match:,} instructions")
    for name, count in counted.items():
        print(f"  {name:32} {count:10,} = {count / match:6.1f} M")


if __name__ == "__main__":
    main(sys.argv[1:])
