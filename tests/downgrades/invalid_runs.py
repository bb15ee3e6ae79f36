"""Runs with one fault: what a release rejects is not mended on the way to it.

`python -m tests.downgrades.invalid_runs [COUNT [RELEASE …]]` draws more of them than the tests do, prints what was mended,
each in its smallest form, and exits with 1 if there is any.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agui_middleware import rewrite
from agui_middleware.protocol.event_types import EventType
from agui_middleware.testing import decode_events
from tests.clients.client import RELEASES, Client, Clients
from tests.clients.corpus import REFERENCE
from tests.strategies import Fault, Json, batch, invalid_runs, plain

# To the releases that reject a run that changes nothing, up to 0.0.30.
NOT_SENT = frozenset(type for type in EventType if type.startswith(("REASONING", "ACTIVITY", "SUBAGENT", "THINKING")))

StartClient = Callable[[str], Client]
Invalid = tuple[list[Json], Fault, list[Json]]


def drawn(client: StartClient, count: int) -> list[Invalid]:
    """Invalid runs that 1.0.0 rejects, of `count` that were drawn."""
    runs = batch(invalid_runs(), count)
    outcomes = client(REFERENCE).read_many(plain(faulty) for _, _, faulty in runs)
    return [run for run, outcome in zip(runs, outcomes, strict=True) if not outcome.accepted]


@dataclass(frozen=True)
class Trial:
    """An invalid run at one release."""

    run: Invalid
    bare: bool
    """Whether the release accepts it as it is."""
    rewritten: bool
    """Whether it accepts what the middleware makes of it."""
    still_faulty: bool
    """Whether it accepts the fault in what the middleware makes of the valid run, so that the fault is none for it; also
    where the event that is to have the fault is one that the release is not sent.
    """

    @property
    def mended(self) -> bool:
        """Whether the middleware has hidden the fault from the release."""
        return not self.bare and self.rewritten and not (self.still_faulty or _is_declared(self.run))


def _is_declared(run: Invalid) -> bool:
    """Whether old releases are sent nothing before RUN_ERROR: alone, it is valid."""
    faulty = run[2]
    types = {event["type"] for event in faulty[:-1]}
    return faulty[-1]["type"] == "RUN_ERROR" and types <= NOT_SENT


def trials(client: StartClient, release: str, runs: Sequence[Invalid]) -> list[Trial]:
    """What a release makes of the runs: as they are, rewritten, and with the fault put in behind the middleware."""
    behind = [fault.applied(decode_events(rewrite(plain(valid), client=release))) for valid, fault, _ in runs]
    streams = [
        stream
        for (_, _, faulty), after in zip(runs, behind, strict=True)
        for stream in (plain(faulty), rewrite(plain(faulty), client=release), plain(after or []))
    ]
    accepted = [outcome.accepted for outcome in client(release).read_many(streams)]
    made = zip(runs, behind, accepted[::3], accepted[1::3], accepted[2::3], strict=True)
    return [Trial(run, bare, rewritten, after is None or none) for run, after, bare, rewritten, none in made]


def mended(client: StartClient, release: str, runs: Sequence[Invalid]) -> list[Trial]:
    """The runs whose fault was hidden from the release."""
    return [trial for trial in trials(client, release, runs) if trial.mended]


def smallest(client: StartClient, release: str, run: Invalid) -> Invalid:
    """The run without all events that it can do without, and still be mended."""
    valid, fault, _ = run
    place = len(valid)
    while place:
        place -= 1
        fewer = valid[:place] + valid[place + 1 :]
        faulty = fault.applied(fewer)
        if faulty is None:
            continue
        whole, broken = client(REFERENCE).read_many([plain(fewer), plain(faulty)])
        if whole.accepted and not broken.accepted and mended(client, release, [(fewer, fault, faulty)]):
            return smallest(client, release, (fewer, fault, faulty))
    return run


def main(arguments: Sequence[str]) -> int:
    """Draw, and print what was mended. Returns the exit code."""
    logging.disable()
    count = int(arguments[0]) if arguments else 1000
    found: set[str] = set()
    with Clients() as clients:
        runs = drawn(clients, count)
        print(f"{len(runs)} of {count} runs are rejected by {REFERENCE}")
        for release in arguments[1:] or RELEASES:
            for line in _described(clients, release, mended(clients, release, runs), found):
                print(line, flush=True)
    return 1 if found else 0


def _described(client: StartClient, release: str, trials: Iterable[Trial], found: set[str]) -> Iterable[str]:
    """Each kind of fault of a release once."""
    for trial in trials:
        key = f"{release} {trial.run[1]}"
        if key not in found:
            found.add(key)
            valid, fault, _ = smallest(client, release, trial.run)
            yield f"{key}: {fault.id} in {valid}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
