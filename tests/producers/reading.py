"""What the releases make of what producers send, next to what 1.0.0 makes of the original."""

from collections.abc import Sequence

from agui_middleware import rewrite
from tests.clients.client import Client, Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case
from tests.downgrades.proof import StartClient, Trial, declared

READERS = ("0.0.45", "0.0.58", REFERENCE)
"""The first release with reasoning, the last one without subagents, and the newest."""

REFUSED = {
    # Two calls whose arguments arrive in turns, as some models send them: the first one is ended where the second begins.
    "pydantic_ai/interleaved-calls": "No active tool call found with ID 'call-1'",
}
"""What producers send and no client is meant to read, and what 1.0.0 says to it."""


def faults(trials: Sequence[Trial]) -> list[str]:
    """The trials that were refused, or that end otherwise than the rows of their release declare."""
    refused = [f"{trial}: {trial.outcome.error}" for trial in trials if not trial.outcome.accepted]
    return refused + [f"{trial}: ends otherwise" for trial in trials if not _as_declared(trial)]


def _as_declared(trial: Trial) -> bool:
    return trial.ends_as_declared(declared(trial.release))


def replay(client: StartClient, release: str, originals: Sequence[tuple[str, Run]], visibility: str) -> list[Trial]:
    """Recorded streams, through the middleware, on one release."""
    cases = [Case(name, run) for name, run in originals]
    streams = [rewrite(case.run.stream, client=release, visibility=visibility) for case in cases]
    outcomes = client(release).read_many(case.sent(stream) for case, stream in zip(cases, streams, strict=True))
    expected = expect(client(REFERENCE), cases, visibility)
    return [
        Trial(release, case, visibility, stream, outcome, end)
        for case, stream, outcome, end in zip(cases, streams, outcomes, expected, strict=True)
    ]


def expect(reference: Client, cases: Sequence[Case], visibility: str) -> list[Outcome]:
    """How 1.0.0 ends on the originals; where subagents are hidden, on the originals without them."""
    if visibility == "hidden":
        return reference.read_many(case.sent(rewrite(case.run.stream, visibility="hidden")) for case in cases)
    return reference.read_many(case.run for case in cases)
