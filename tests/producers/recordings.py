"""Recorded streams: a file a response, whose first line is a comment with the request.

Ids and times are put in place of those that differ from run to run, in the order in which they come.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.clients.client import Run
from tests.producers.scenario import Exchange, Json

FOLDER = Path(__file__).with_name("recorded")

RANDOM = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])")
TIMES = re.compile(r'("(?:timestamp|created_at|time_to_first_token)":)(?:\d{10,13}|0\.\d+|\d\.\d*e-\d+|"\d{4}-[^"]*")')
PROOFS = re.compile(r'(?<="proof":")[\w-]{43}(?=")')  # AG2's, of an interrupt


@dataclass(frozen=True)
class Recording:
    """One response of a producer."""

    name: str
    """`producer/scenario`, with the number of the turn where it is not the first."""
    input: Json
    stream: bytes

    @property
    def run(self) -> Run:
        return Run(self.stream, self.input["messages"], self.input["state"])

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.sse"

    def dump(self) -> bytes:
        return f": {json.dumps(self.input)}\n\n".encode() + self.stream


def recordings() -> list[Recording]:
    """All that are kept."""
    return [_load(path) for path in sorted(FOLDER.glob("*/*.sse"))]


def _load(path: Path) -> Recording:
    request, _, stream = path.read_bytes().partition(b"\n\n")
    name = path.relative_to(FOLDER).with_suffix("").as_posix()
    return Recording(name, json.loads(request.removeprefix(b": ")), stream)


def recorded(producer: str, scenario: str, exchanges: list[Exchange]) -> Iterator[Recording]:
    """What to keep of a conversation."""
    names: dict[str, str] = {}
    for turn, exchange in enumerate(exchanges, 1):
        name = f"{producer}/{scenario}" + (f"-{turn}" if turn > 1 else "")
        input = json.loads(_settled(json.dumps(exchange.input), names))
        yield Recording(name, input, _settled(exchange.produced.decode(), names).encode())


def _settled(text: str, names: dict[str, str]) -> str:
    def name(match: re.Match[str]) -> str:
        number = len(names) + 1
        shape = f"00000000-0000-4000-8000-{number:012x}" if "-" in match[0] else f"{number:032x}"
        return names.setdefault(match[0], shape)

    return PROOFS.sub("proof", TIMES.sub(r"\g<1>1700000000000", RANDOM.sub(name, text)))
