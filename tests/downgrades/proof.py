"""Every case through the middleware into a release, and how it ends there next to 1.0.0 on the original."""

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from agui_middleware import ClientVersion, rewrite
from agui_middleware.downgrades import Difference, downgrades_for
from tests.clients.client import Client, Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades import content_projections, structure_projections  # noqa: F401  # register their projections
from tests.downgrades.cases import Case
from tests.downgrades.projections import End, projected

VISIBILITIES = ("auto", "hidden")
Ends = Mapping[str, Sequence[Outcome]]
"""By visibility, how 1.0.0 ends on each case: where subagents are hidden, on the original without them."""


@dataclass(frozen=True)
class Trial:
    """One case with one visibility on one release."""

    release: str
    case: Case
    visibility: str
    stream: bytes
    """What the middleware made of the case."""
    outcome: Outcome
    expected: Outcome
    """How 1.0.0 ends on the original."""

    def __str__(self) -> str:
        return f"{self.case.name}, {self.visibility}, {self.release}"

    @cached_property
    def ends_alike(self) -> bool:
        """Whether it ends like 1.0.0."""
        return self.outcome.ends_like(self.expected)

    def ends_as_declared(self, differences: Collection[Difference]) -> bool:
        """Whether it ends like 1.0.0, up to these differences."""
        if self.ends_alike:
            return True
        outcome, expected = (self._projected(end, differences) for end in (self.outcome, self.expected))
        return outcome.ends_like(expected)

    def _projected(self, outcome: Outcome, differences: Collection[Difference]) -> Outcome:
        end = projected(End(outcome.messages, outcome.state, outcome is self.expected), differences, self.case)
        return replace(outcome, messages=end.messages, state=end.state)


def declared(release: str) -> list[Difference]:
    """The differences that the rows of a release declare."""
    rows = downgrades_for(ClientVersion.parse(release))
    return list(dict.fromkeys(difference for row in rows for difference in row.differences))


def prepare() -> None:
    """Have this process, which is there for proofs alone, log no losses."""
    logging.disable()


def ends(cases: Sequence[Case], visibility: str) -> list[Outcome]:
    """How 1.0.0 ends on the cases. Raises NotInstalledError."""
    hidden = visibility == "hidden"
    return _read(
        REFERENCE, [case.sent(rewrite(case.run.stream, visibility="hidden")) if hidden else case.run for case in cases]
    )


def read_all(release: str, cases: Sequence[Case], ends: Ends) -> list[Trial]:
    """All cases on one release, with both visibilities where that makes two streams of them. Raises NotInstalledError."""
    planned = [(index, *made) for index, case in enumerate(cases) for made in _made(case, release)]
    outcomes = _read(release, [cases[index].sent(stream) for index, _, stream in planned])
    return [
        Trial(release, cases[index], visibility, stream, outcome, ends[visibility][index])
        for (index, visibility, stream), outcome in zip(planned, outcomes, strict=True)
    ]


def _made(case: Case, release: str) -> Iterator[tuple[str, bytes]]:
    shown = rewritten(case.run.stream, release, "auto")
    yield "auto", shown
    if case.tagged and (hidden := rewritten(case.run.stream, release, "hidden")) != shown:
        yield "hidden", hidden


@lru_cache(maxsize=4096)
def rewritten(stream: bytes, release: str, visibility: str) -> bytes:
    """What the middleware makes of a stream; much of the corpus differs only before it was rewritten."""
    return rewrite(stream, client=release, visibility=visibility)


def _read(release: str, runs: Sequence[Run]) -> list[Outcome]:
    """What a release makes of runs, each different one read once."""
    keys = [(run.stream, str(run.messages), str(run.state), tuple(run.chunks)) for run in runs]
    different = dict(zip(keys, runs, strict=True))
    with Client(release) as client:
        outcomes = dict(zip(different, client.read_many(different.values()), strict=True))
    return [outcomes[key] for key in keys]
