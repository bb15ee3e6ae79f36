"""What `check` rejects next to what every release rejects: small streams with one fault each, and recordings."""

import logging
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import settings

from agui_middleware import ClientVersion, rewrite
from agui_middleware.checking import Report, Verdict, check
from agui_middleware.checking.reader import Reader, Received
from agui_middleware.checking.recorded import framing, items_in
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.testing import encode_events
from tests.checking.framings import FRAMINGS
from tests.checking.shapes import shapes
from tests.clients.client import Client, Run
from tests.clients.corpus import Corpus
from tests.producers.recordings import recordings

pytestmark = pytest.mark.untraced

StartClient = Callable[[str], Client]

EVERY_FAULT = settings.get_current_profile_name() == "thorough"
SHAPES = {name: encode_events(events) for name, events in shapes(every_fault=EVERY_FAULT).items()} | FRAMINGS
RUNS = {
    **{name: Run(stream) for name, stream in SHAPES.items()},
    **{recording.name: recording.run for recording in recordings()},
}


_items_in = cache(items_in)  # read once for all releases


def rejects(recording: bytes, release: ClientVersion) -> bool:
    """Whether `check` finds that `release` rejects a recording, without its account of what else is in there."""
    items = _items_in(recording)
    framed = framing(recording, release, items)
    reader = Reader(release)
    taken = [reader.take(Received(item.event)) for item in items if item.event and item.place not in framed.unread]
    return bool(framed.refused or any(taken) or (taken and reader.finish()))


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_rejected_is_what_the_release_rejects_and_nothing_else(client: StartClient, release: ClientVersion) -> None:
    outcomes = dict(zip(RUNS, client(str(release)).read_many(RUNS.values()), strict=True))
    wrong = {
        name: outcome.error
        for name, outcome in outcomes.items()
        if rejects(RUNS[name].stream, release) == outcome.accepted
    }
    assert wrong == {}


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_rejected_of_the_corpus_is_what_the_release_was_measured_to_reject(release: ClientVersion) -> None:
    """A case in another form than Server-Sent Events is left to `check`, which reads it."""
    cases = [case for case in Corpus.load().cases if case.name != "sse:ndjson"]
    measured = {case.name for case in cases if case.letters.get(str(release)) == "X"}
    assert {case.name for case in cases if rejects(case.run.stream, release)} == measured


def test_the_shapes_are_many_and_of_both_kinds() -> None:
    """So that the test above cannot pass on nothing."""
    rejected = sum(rejects(stream, RELEASES[-1]) for stream in SHAPES.values())
    assert rejected > 400
    assert len(SHAPES) - rejected > 300


async def reports(release: ClientVersion) -> dict[str, Report]:
    found = {name: await check(stream, release) for name, stream in SHAPES.items()}
    return {name: report for name, report in found.items() if report.verdict is not Verdict.READ}


@pytest.mark.parametrize("release", ["0.0.36", "0.0.58", "1.0.0"])
async def test_the_middleware_helps_where_it_is_said_to_and_nowhere_else(
    client: StartClient, release: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    found = await reports(ClientVersion.parse(release))
    behind = client(release).read_many(rewrite(SHAPES[name], client=release) for name in found)
    wrong = {
        name: (report.helped, outcome.error)
        for (name, report), outcome in zip(found.items(), behind, strict=True)
        if report.helped != outcome.accepted
    }
    assert wrong == {}
