"""What the producers sent when they were recorded, through the middleware into real clients."""

from collections.abc import Callable

import pytest

from agui_middleware import rewrite
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.repair import repair
from agui_middleware.filters.repair_also import repair_also
from agui_middleware.testing import decode_events, run_filter
from tests.clients.client import Client
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case
from tests.downgrades.proof import Trial
from tests.producers.reading import READERS, REFUSED, faults
from tests.producers.recordings import Recording, recordings

RECORDINGS = recordings()
CASES = [Case(recording.name, recording.run) for recording in RECORDINGS if recording.name not in REFUSED]
TAGGED = [case for case in CASES if b'"SUBAGENT_STARTED"' in case.run.stream]

StartClient = Callable[[str], Client]


def trials(client: StartClient, release: str, cases: list[Case], visibility: str) -> list[Trial]:
    """The cases on a release; where subagents are hidden, next to 1.0.0 on the original without them."""
    rewritten = [case.sent(rewrite(case.run.stream, client=release, visibility=visibility)) for case in cases]
    hidden = [case.sent(rewrite(case.run.stream, visibility="hidden")) for case in cases]
    originals = hidden if visibility == "hidden" else [case.run for case in cases]
    outcomes, ends = client(release).read_many(rewritten), client(REFERENCE).read_many(originals)
    return [
        Trial(release, case, visibility, run.stream, outcome, end)
        for case, run, outcome, end in zip(cases, rewritten, outcomes, ends, strict=True)
    ]


@pytest.mark.parametrize("release", READERS)
def test_every_recording_is_read_as_declared(client: StartClient, release: str) -> None:
    assert faults(trials(client, release, CASES, "auto")) == []


@pytest.mark.parametrize("release", READERS)
def test_recordings_of_subagents_are_read_without_them(client: StartClient, release: str) -> None:
    assert TAGGED
    for trial in trials(client, release, TAGGED, "hidden"):
        assert faults([trial]) == []
        assert b"subagentRunId" not in trial.stream
        assert b"I look for" not in trial.stream


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_the_newest_client_gets_a_recording_as_it_is(recording: Recording) -> None:
    assert rewrite(recording.stream) == recording.stream


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
async def test_no_fault_is_seen_in_what_these_producers_send(recording: Recording) -> None:
    """What reports faults of producers takes nothing for one that a client reads."""
    losses: list[Loss] = []
    for filter in (repair, repair_also()):
        await run_filter(filter, decode_events(recording.stream), losses=losses)
    assert losses == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_client_is_meant_to_read_is_refused(client: StartClient, name: str) -> None:
    """So that the list shrinks when a producer is mended and recorded again."""
    [run] = [recording.run for recording in RECORDINGS if recording.name == name]
    [outcome] = client(REFERENCE).read_many([run])
    assert not outcome.accepted
    assert outcome.error
    assert REFUSED[name] in outcome.error
