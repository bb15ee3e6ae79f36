"""`python -m tests.benchmarks`: what the middleware costs, as ratios of one run.

Prints tables and, with `--json FILE`, writes all of it. `--short` is for CI: fewer rounds, and it fails where a ratio is
clearly worse than the committed one in `baseline.json`; `--write-baseline` commits those of this run.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvloop

from tests.benchmarks import growth, imports, instructions, many, per_event, requests, sockets
from tests.benchmarks.timing import Spread
from tests.benchmarks.way_in import ratios as ratios_of_the_way_in

BASELINE = Path(__file__).parent / "baseline.json"
# Machines differ even in their ratios; what is worth stopping a change for is a good deal more than that.
CLEARLY_WORSE = 1.6
NOTHING = 1.0  # of a request, in matches of a route: less than that is noise
# Of these contenders on token deltas, what they add as a share of what the floor and a naive wrapper add.
WATCHED = ("passing", "fault watch", "inline", "hidden", "0.0.58", "0.0.45", "0.0.36")
# Of another stream, what one contender adds as a share of what another one adds.
WATCHED_ELSEWHERE = {"alternating texts": ("0.0.36", "inline"), "1 MiB snapshots": ("inline", "floor")}
DELTAS = ("parent's deltas", "subagent's deltas")


def show(title: str, rows: Mapping[str, Mapping[str, Spread | float]]) -> None:
    """A table: a row a contender, a column a comparison."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    print(f"\n{title:24}" + "".join(f"{column:>24}" for column in columns))
    for name, row in rows.items():
        print(f"  {name:22}" + "".join(f"{_cell(row.get(column)):>24}" for column in columns))


def _cell(value: Spread | float | None) -> str:
    return "" if value is None else f"{value:.2f}" if isinstance(value, Spread) else f"{value:,.2f}"


def watched(result: per_event.Result) -> dict[str, float]:
    """The ratios that a change may not worsen, by name."""
    return {
        f"{stream}: {name} / {other}": round(result[stream][name][other].median, 2)
        for stream in DELTAS
        for name in WATCHED
        for other in ("floor", "naive json")
    } | {
        f"{stream}: {name} / {other}": round(result[stream][name][other].median, 2)
        for stream, (name, other) in WATCHED_ELSEWHERE.items()
    }


def worse(now: Mapping[str, float]) -> list[str]:
    before: dict[str, float] = json.loads(BASELINE.read_text())
    return [
        f"{name}: {now[name]}, was {was}"
        for name, was in before.items()
        if now[name] > CLEARLY_WORSE * was + (NOTHING if name.startswith("request: ") else 0)
    ]


def plain(value: Any) -> Any:
    if isinstance(value, Spread):
        return [round(number, 4) for number in value]
    return {name: plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def in_process(rounds: int) -> dict[str, Any]:
    """Everything that a response costs between the app and the server, and how that grows."""
    report: dict[str, Any] = {
        "apps": asyncio.run(per_event.real_inner(rounds)),
        "one event": asyncio.run(per_event.whole(rounds)),
        "growth": asyncio.run(growth.growth()),
        "peak KiB": asyncio.run(growth.memory()),
    }
    for inner, row in report["apps"].items():
        show(f"as a share of {inner}", {inner: row})
    show("a response of one event", {"over StreamingResponse": report["one event"]})
    for what, row in report["growth"].items():
        show(f"us, by {what}", {"inline": row})
    show("peak KiB of one stream", {"inline": report["peak KiB"]})
    return report


def over_sockets() -> dict[str, Any]:
    report: dict[str, Any] = {"streams": uvloop.run(sockets.measure(16, 2.0)), "memory": uvloop.run(sockets.memory())}
    for streams, rows in report["streams"].items():
        show(f"{streams} at once", rows)
    show("KiB an open stream", {"resident": report["memory"]})
    return report


def counted() -> dict[str, Any]:
    if not instructions.available():
        print("\nvalgrind is not installed: no instructions are counted")
        return {}
    report = instructions.measure()
    for stream, counts in report.items():
        show(f"instructions: {stream}", {name: {"an event": count} for name, count in counts.items()})
    return {"instructions": report}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write-baseline", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rounds = 15 if options.short else 61
    if options.short:
        result = asyncio.run(per_event.bare_inner(rounds, only=DELTAS))
        for stream, compared in WATCHED_ELSEWHERE.items():
            result |= asyncio.run(per_event.bare_inner(rounds, ("bare", *compared), [stream]))
    else:
        result = asyncio.run(per_event.bare_inner(rounds))
    for stream, rows in result.items():
        show(f"{stream}, an event", rows)
    setups = asyncio.run(requests.measure(rounds))
    show("a request", {name: {"matches of a route": spread} for name, spread in setups.items()})
    imported = imports.measure(rounds)
    show("importing", {"agui_middleware": {"starlette + msgspec": imported}})
    now = (
        watched(result)
        | {"import": round(imported.median, 2)}
        | {f"request: {name}": round(spread.median, 1) for name, spread in setups.items()}
    )
    sizes = asyncio.run(many.memory())
    show("KiB", {name: dict(row) for name, row in sizes.items()})
    now |= {f"KiB: {kind}, {name}": round(size, 1) for name, row in sizes.items() for kind, size in row.items()}
    way_in = asyncio.run(ratios_of_the_way_in(rounds))
    show("the way in", {name: {"ratio": figure} for name, figure in way_in.items()})
    now |= way_in
    report: dict[str, Any] = {"per event": result, "requests": setups, "import": imported, "watched": now}
    if not options.short:
        report |= in_process(rounds) | {"sockets": over_sockets()} | counted()
    if options.json is not None:
        options.json.write_text(json.dumps(plain(report), indent=1) + "\n")
    if options.write_baseline:
        BASELINE.write_text(json.dumps(now, indent=1) + "\n")
    slower = worse(now) if options.short else []
    for line in slower:
        print(f"clearly worse than committed: {line}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
