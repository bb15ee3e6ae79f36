"""Instructions an event, as callgrind counts them: the same on a loaded machine as on an idle one, unlike time.

`python -m tests.benchmarks.instructions [CONTENDER ...]` prints what each contender adds to the bare app.
"""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator

from tests.benchmarks import apps, streams
from tests.benchmarks.contenders import CONTENDERS
from tests.benchmarks.exchange import exchange

STREAMS = {
    "parent's deltas": streams.parents_deltas,
    "subagent's deltas": streams.subagents_deltas,
    "alternating texts": streams.alternating_texts,
}
EVENTS = (300, 1300)  # the first warm up: the interpreter specialises its instructions, and caches fill
Count = tuple[str, str, int]
COLLECTED = re.compile(r"^==(\d+)== Collected : (\d+)", re.MULTILINE)


def available() -> bool:
    return shutil.which("valgrind") is not None


def measure(names: Iterable[str] = CONTENDERS) -> dict[str, dict[str, int]]:
    """Instructions that an event takes more than in the bare app, by stream and contender."""
    measured = [name for name in names if name != "bare"]
    counted = _counted(["bare", *measured])

    def an_event(stream: str, name: str) -> float:
        few, many = (counted[stream, name, events] for events in EVENTS)
        return (many - few) / (EVENTS[1] - EVENTS[0])

    return {
        stream: {name: round(an_event(stream, name) - an_event(stream, "bare")) for name in measured}
        for stream in STREAMS
    }


def _counted(names: list[str]) -> dict[Count, int]:
    run = [sys.executable, "-m", "tests.benchmarks.instructions", "--run", *names]
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *run]
    # One order of every set and dict.
    told = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": "0"}, check=True)
    collected = {int(pid): int(count) for pid, count in COLLECTED.findall(told.stderr)}
    counts: dict[Count, int] = {}
    for line in told.stdout.splitlines():
        pid, stream, name, events = line.split("\t")
        counts[stream, name, int(events)] = collected[int(pid)]
    return counts


def _run(names: list[str]) -> Iterator[tuple[int, Count]]:
    """Each count is of a process of its own, forked where all that is imported has been: importing takes valgrind long."""
    for stream, make in STREAMS.items():
        for name in names:
            for events in EVENTS:
                pid = os.fork()
                if pid == 0:
                    asyncio.run(exchange(CONTENDERS[name](apps.messages(make(events)))))
                    os._exit(0)
                os.waitpid(pid, 0)
                yield pid, (stream, name, events)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--run"]:
        for pid, count in _run(arguments[1:]):
            print(pid, *count, sep="\t", flush=True)
        return
    for stream, counts in measure(arguments or CONTENDERS).items():
        print(stream, *(f"  {name:12} {count:8,} instructions an event" for name, count in counts.items()), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
