"""Every case through the middleware into every release, and how it ends there next to 1.0.0 on the original."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from agui_middleware import ClientVersion, rewrite
from agui_middleware.downgrades import Difference, needed_by
from tests.clients.client import Client, Outcome
from tests.clients.corpus import REFERENCE
from tests.downgrades import content_projections, structure_projections  # noqa: F401  # register their projections
from tests.downgrades.cases import Case, cases
from tests.downgrades.projections import End, projected

StartClient = Callable[[str], Client]
VISIBILITIES = ("auto", "hidden")


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
    """How 1.0.0 ends on the original; where subagents are hidden, on the original without them."""

    def __str__(self) -> str:
        return f"{self.case.name}, {self.visibility}, {self.release}"

    def ends_as_declared(self, differences: Iterable[Difference]) -> bool:
        """Whether it ends like 1.0.0, up to these differences."""
        return self._projected(self.outcome, differences).ends_like(self._projected(self.expected, differences))

    def _projected(self, outcome: Outcome, differences: Iterable[Difference]) -> Outcome:
        end = projected(End(outcome.messages, outcome.state, outcome is self.expected), differences, self.case)
        return replace(outcome, messages=end.messages, state=end.state)


def declared(release: str) -> list[Difference]:
    """The differences that the rows of a release declare."""
    rows = needed_by(ClientVersion.parse(release))
    return list(dict.fromkeys(difference for row in rows for difference in row.differs))


@cache
def _expected(client: StartClient, visibility: str) -> tuple[Outcome, ...]:
    """How 1.0.0 ends on each case."""
    if visibility == "auto":
        return tuple(client(REFERENCE).read_many(case.run for case in cases()))
    hidden = (case.sent(rewrite(case.run.stream, visibility=visibility)) for case in cases())
    return tuple(client(REFERENCE).read_many(hidden))


def read_all(client: StartClient, release: str) -> list[Trial]:
    """All cases on one release, with both visibilities where that makes two streams of them."""
    planned = list(_planned(release))
    outcomes = client(release).read_many(case.sent(stream) for case, _, stream, _ in planned)
    ends = {visibility: _expected(client, visibility) for visibility in VISIBILITIES}
    return [
        Trial(release, case, visibility, stream, outcome, ends[visibility][index])
        for (case, visibility, stream, index), outcome in zip(planned, outcomes, strict=True)
    ]


def _planned(release: str) -> Iterator[tuple[Case, str, bytes, int]]:
    for index, case in enumerate(cases()):
        seen: set[bytes] = set()
        for visibility in VISIBILITIES:
            stream = rewrite(case.run.stream, client=release, visibility=visibility)
            if stream not in seen:
                yield case, visibility, stream, index
            seen.add(stream)
