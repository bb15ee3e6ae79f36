"""`python -m tests.benchmarks`: what the middleware costs, as ratios of one run.

Prints a table and, with `--json FILE`, writes it. `--short` takes fewer rounds and fails where a ratio is clearly worse than
the committed one in `baseline.json`; `--write-baseline` commits those of this run.
"""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.benchmarks.growth import growth, memory
from tests.benchmarks.per_event import Result, bare_inner, real_inner
from tests.benchmarks.timing import Spread

BASELINE = Path(__file__).parent / "baseline.json"
# Machines differ even in their ratios; what is worth stopping a change for is a good deal more than that.
CLEARLY_WORSE = 2.0
# Of these contenders on token deltas, what they add as a share of what the floor and a naive wrapper add.
WATCHED = ("inline", "hidden", "0.0.58", "0.0.45", "0.0.36")


def show(result: Result) -> None:
    for stream, contenders in result.items():
        print(f"\n{stream}")
        for name, costs in contenders.items():
            ratios = "  ".join(f"x{other} {spread:.2f}" for other, spread in costs.items() if other != "added")
            print(f"  {name:12} adds {costs['added']:.2f} us an event  {ratios}")


def watched(result: Result) -> dict[str, float]:
    """The ratios that a change may not worsen, by name."""
    return {
        f"{stream}: {name} / {other}": round(contenders[name][other].median, 2)
        for stream, contenders in result.items()
        if "delta" in stream
        for name in WATCHED
        for other in ("floor", "naive json")
    }


def worse(now: dict[str, float]) -> list[str]:
    before: dict[str, float] = json.loads(BASELINE.read_text())
    return [f"{name}: {now[name]}, was {was}" for name, was in before.items() if now[name] > CLEARLY_WORSE * was]


def plain(value: Any) -> Any:
    if isinstance(value, Spread):
        return [round(number, 4) for number in value]
    return {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write-baseline", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rounds = 15 if options.short else 101
    result = await bare_inner(rounds)
    show(result)
    now = watched(result)
    report: dict[str, Any] = {"per event": plain(result), "watched": now}
    if not options.short:
        report |= {"apps": plain(await real_inner(rounds)), "growth": await growth(), "memory": await memory()}
        print(json.dumps({name: report[name] for name in ("apps", "growth", "memory")}, indent=1))
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1))
    if options.write_baseline:
        BASELINE.write_text(json.dumps(now, indent=1) + "\n")
    slower = worse(now) if options.short else []
    for line in slower:
        print(f"clearly worse than committed: {line}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
