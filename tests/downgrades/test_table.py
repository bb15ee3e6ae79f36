import inspect

import pytest

from agui_middleware import ClientVersion, rewrite
from agui_middleware.downgrades import DOWNGRADES, Downgrade, downgrades_for
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.declared import DeclaredFilter
from agui_middleware.protocol.releases import RELEASES, UPCOMING, nearest_release
from agui_middleware.testing import run_filter
from tests.clients.client import Outcome, Run
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import Case, stream
from tests.downgrades.minimal import Minimal, StartClient
from tests.downgrades.proof import Trial, declared
from tests.downgrades.shapes import SHAPES

ROWS = pytest.mark.parametrize("row", DOWNGRADES, ids=lambda row: row.name)

# What the protocol asks of a translator, though the clients ignore it: nothing but the bytes can tell.
DUTIES = ("protocol-version", "encrypted-value-types", "protocol-1.1")

# A call of anybody's message but the assistant's has the shape of `call-parents` too, which newer releases need.
SHARED = ("lost-parents",)


def test_every_row_has_a_smallest_stream() -> None:
    assert list(SHAPES) == [row.name for row in DOWNGRADES]


@ROWS
def test_the_last_release_that_needs_a_row_does_not_read_the_shape(client: StartClient, row: Downgrade) -> None:
    """It rejects it, or ends differently than 1.0.0; the next release does not."""
    minimal = Minimal(client, row.name)
    body = stream(*SHAPES[row.name].stream)
    reference, bare = (minimal.reads(release, body) for release in (REFERENCE, minimal.needing[-1]))
    assert reference.accepted, reference.error
    assert (_end(bare) == _end(reference)) == (row.name in DUTIES)


@ROWS
def test_the_releases_that_need_a_row_end_with_it_as_they_declare(client: StartClient, row: Downgrade) -> None:
    minimal = Minimal(client, row.name)
    for release in {minimal.needing[0], minimal.needing[-1]}:
        _ends_as_declared(minimal, release)


@ROWS
def test_a_row_leaves_the_first_release_that_reads_the_shape_alone(client: StartClient, row: Downgrade) -> None:
    body = stream(*SHAPES[row.name].stream)
    assert (rewrite(body, client=row.fixed_in) == body) == (row.name not in SHARED)
    if ClientVersion.parse(row.fixed_in) in RELEASES:
        _ends_as_declared(Minimal(client, row.name), row.fixed_in)


def _ends_as_declared(minimal: Minimal, release: str) -> None:
    body = stream(*SHAPES[minimal.name].stream)
    case, written = Case(minimal.name, Run(body)), rewrite(body, client=release)
    trial = Trial(release, case, "auto", written, minimal.reads(release, written), minimal.reads(REFERENCE, body))
    assert trial.outcome.accepted, trial.outcome.error
    assert trial.ends_as_declared(declared(release))


def _end(outcome: Outcome) -> object:
    return outcome.accepted, outcome.messages, outcome.state, outcome.interrupts


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in DOWNGRADES}) == len(DOWNGRADES)


@ROWS
def test_a_row_begins_and_ends_with_a_release_that_is_told_apart(row: Downgrade) -> None:
    """So a version in between needs the rows of the release that it counts as."""
    assert ClientVersion.parse(row.fixed_in) in (*RELEASES, *UPCOMING)
    assert row.broken_since == "0.0.0" or ClientVersion.parse(row.broken_since) in RELEASES
    assert any(row in downgrades_for(release) for release in RELEASES)


def test_a_client_reads_everything_from_where_no_row_is_left() -> None:
    newest = max(ClientVersion.parse(row.fixed_in) for row in DOWNGRADES)
    assert newest == UPCOMING[-1]
    assert nearest_release(newest) is None
    assert downgrades_for(RELEASES[-1])


@pytest.mark.parametrize("version", ["1.0.1", "1.0.2"])
def test_a_later_release_of_the_same_protocol_gets_what_the_first_one_gets(version: str) -> None:
    """1.0.1 counted as newer than everything: it was sent the 1.1 that a stream claims."""
    body = stream(*SHAPES["protocol-1.1"].stream)
    assert rewrite(body, client=version) == rewrite(body, client="1.0.0") != body


@ROWS
def test_a_filter_has_the_name_of_its_row_or_of_its_file(row: Downgrade) -> None:
    if isinstance(row.filter, DeclaredFilter):
        file = inspect.getmodule(row.filter._make).__name__.rpartition(".")[2]  # type: ignore[union-attr]  # it is imported
        assert row.name.replace("-", "_") in row.filter.__name__ or file in row.filter.__name__


@pytest.mark.parametrize("row", [row for row in DOWNGRADES if row.reports_only], ids=lambda row: row.name)
async def test_a_row_that_only_reports_changes_nothing(row: Downgrade) -> None:
    events, losses = SHAPES[row.name].stream, list[Loss]()
    assert row.filter is not None
    assert not row.rewrites
    assert await run_filter(row.filter, events, losses=losses) == events
    assert losses


@ROWS
def test_a_row_completes_its_sentences(row: Downgrade) -> None:
    """`why`: "a release before ... rejects ..."; `lost`: "lost: ..."."""
    for text in filter(None, (row.symptom, row.loss)):
        assert text[0].islower() or text[0] == "`"
        assert not text.endswith((".", " "))
