"""What the releases make of what producers send, next to what 1.0.0 makes of the original."""

from collections.abc import Iterable

from tests.clients.corpus import REFERENCE
from tests.downgrades.proof import Trial, declared

READERS = ("0.0.45", "0.0.58", REFERENCE)
"""The first release with reasoning, the last one without subagents, and the newest."""

REFUSED = {
    # Two calls whose arguments arrive in turns, as some models send them: the first one is ended where the second begins.
    "pydantic_ai/interleaved-calls": "No active tool call found with ID 'call-1'",
}
"""What producers send and no client is meant to read, and what 1.0.0 says to it."""


def faults(trials: Iterable[Trial]) -> list[str]:
    """What is wrong with trials: they were refused, or end otherwise than the rows of their release declare."""
    return [fault for trial in trials if (fault := _fault(trial))]


def _fault(trial: Trial) -> str | None:
    if not trial.expected.accepted:
        return f"{trial}: 1.0.0 refuses the original: {trial.expected.error}"
    if not trial.outcome.accepted:
        return f"{trial}: {trial.outcome.error}"
    return None if trial.ends_as_declared(declared(trial.release)) else f"{trial}: ends otherwise"
