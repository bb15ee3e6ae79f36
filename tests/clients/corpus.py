"""The corpus: valid streams, and how the application ends up with each release of @ag-ui/client that reads them.

Every case is one that the reference release accepts. A letter a release says how the others end:

    .  accepted, with the messages and the state that the reference release ends with
    d  accepted, but it ends differently
    X  rejected
    o  accepted, while the reference release rejects it (in no committed case)
    ?  not measured; a new case may leave out all its letters

`python -m tests.clients.measure` measures the letters again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.clients.client import Run

PATH = Path(__file__).with_name("corpus.json")
REFERENCE = "1.0.0"


@dataclass(frozen=True, slots=True)
class Case:
    """One stream of the corpus with its request.

    `record` is the line of the file: `name`, then `events` or, where the framing is the point, `sse`; and where the
    case needs them `messages`, `state` and `chunks` of its Run. `letters` is the end on each release measured.
    """

    record: Mapping[str, Any]
    letters: Mapping[str, str]

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def run(self) -> Run:
        record = self.record
        text = record["sse"] if "sse" in record else "".join(map(frame, record["events"]))
        return Run(
            text.encode(),
            messages=record.get("messages", ()),
            state=record.get("state"),
            chunks=record.get("chunks", ()),
        )


def frame(event: Mapping[str, Any]) -> str:
    """An event the way every release reads it; lone surrogates stay escapes."""
    return f"data: {json.dumps(event)}\n\n"


@dataclass(frozen=True, slots=True)
class Corpus:
    """All cases; `releases` are those measured, oldest first."""

    releases: tuple[str, ...]
    cases: tuple[Case, ...]

    @classmethod
    def load(cls, path: Path = PATH) -> Self:
        document = json.loads(path.read_bytes())
        releases = tuple(document["releases"])
        return cls(releases, tuple(_case(releases, record) for record in document["cases"]))

    def dump(self, path: Path = PATH) -> None:
        """One case a line, so that a new measurement shows in a diff as the cases it changes."""
        lines = ",\n".join(_compact(_line(self.releases, case)) for case in self.cases)
        path.write_text(f'{{"releases":{_compact(self.releases)},\n"cases":[\n{lines}\n]}}\n')


def _case(releases: tuple[str, ...], record: dict[str, Any]) -> Case:
    letters = record.pop("releases", "?" * len(releases))
    return Case(record, dict(zip(releases, letters, strict=True)))


def _line(releases: tuple[str, ...], case: Case) -> dict[str, Any]:
    return {**case.record, "releases": "".join(case.letters[release] for release in releases)}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
