"""The verdict of `check` next to what releases make of the corpus, and of generated runs."""

from collections.abc import Callable, Sequence

import anyio
import pytest
from hypothesis import given, settings

from agui_middleware import ClientVersion
from agui_middleware.checking import Finding, Verdict, check
from agui_middleware.checking.recorded import items_in
from agui_middleware.protocol.event import Event
from agui_middleware.testing import encode_events
from tests.clients.client import Client, Run
from tests.clients.corpus import Case, Corpus
from tests.strategies import Json, plain, runs

pytestmark = pytest.mark.untraced

StartClient = Callable[[str], Client]

CASES = Corpus.load().cases

# A case that is no stream of Server-Sent Events: to `check` it is a recording in another form.
NDJSON = "sse:ndjson"

# One of each larger group of releases that behave alike.
GROUPS = ("0.0.27", "0.0.30", "0.0.36", "0.0.40", "0.0.45", "0.0.49", "0.0.58", "0.0.59")


async def refused_by(release: str, case: Case) -> list[Finding]:
    return (await check(case.run.stream, ClientVersion.parse(release))).refused


async def verdicts(release: str, cases: Sequence[Case] = CASES) -> dict[str, Verdict]:
    client = ClientVersion.parse(release)
    return {case.name: (await check(case.run.stream, client)).verdict for case in cases if case.name != NDJSON}


@pytest.mark.parametrize("release", GROUPS)
async def test_refused_is_what_the_release_rejects_and_nothing_else(release: str) -> None:
    """The letters of the corpus were measured on the release. `test_shapes` compares all of them, without a report."""
    cases = CASES if settings.get_current_profile_name() == "thorough" else CASES[::4]
    refused = {case.name for case in cases if case.name != NDJSON and await refused_by(release, case)}
    assert refused == {case.name for case in cases if case.letters[release] == "X"} - {NDJSON}


# A patch of operations that nobody knows beside one that cannot be applied: ignored whole, or in two steps.
TO_THE_SAME_END = {"act:delta_op_unknown", "delta:op_missing", "delta:op_unknown"}


async def test_what_is_misread_ends_otherwise() -> None:
    misread = {name for name, verdict in (await verdicts("0.0.58")).items() if verdict is Verdict.MISREAD}
    assert len(misread) > 20
    assert {case.name for case in CASES if case.letters["0.0.58"] == "."} & misread <= TO_THE_SAME_END


async def test_1_0_0_reads_the_whole_corpus() -> None:
    assert set((await verdicts("1.0.0")).values()) == {Verdict.READ}


def sent(events: Sequence[Event], case: Case) -> Run:
    return Run(encode_events(events), case.run.messages, case.run.state)


@pytest.mark.parametrize("release", ["0.0.36", "0.0.45", "0.0.58"])
async def test_the_refused_event_is_the_one_at_which_the_run_ends(client: StartClient, release: str) -> None:
    """The stream up to it is accepted; with it, and nothing behind it, rejected."""
    refused = []
    for case in CASES[::4]:
        findings = await refused_by(release, case)
        if findings and findings[0].feature != "framing":
            events = [item.event for item in items_in(case.run.stream) if item.event is not None]
            refused.append((case, events, findings[0].place))
    before = client(release).read_many(sent(events[:place], case) for case, events, place in refused)
    behind = client(release).read_many(sent(events[: place + 1], case) for case, events, place in refused)
    assert [case.name for (case, *_), outcome in zip(refused, before, strict=True) if not outcome.accepted] == []
    assert [case.name for (case, *_), outcome in zip(refused, behind, strict=True) if outcome.accepted] == []
    assert len(refused) > 15


@pytest.mark.parametrize("release", ["0.0.36", "0.0.45", "0.0.58", "0.0.59"])
@settings(max_examples=15)
@given(events=runs())
def test_generated_runs_are_refused_where_the_release_rejects_them(
    client: StartClient, release: str, events: list[Json]
) -> None:
    report = anyio.run(check, plain(events), ClientVersion.parse(release))
    outcome = client(release).read(plain(events))
    assert (report.verdict is Verdict.REFUSED) == (not outcome.accepted), outcome.error
