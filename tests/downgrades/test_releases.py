"""Every case through the middleware into every published release; of one release, with `-k 0.0.36`."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from agui_middleware.downgrades import DOWNGRADES, Difference
from tests.clients.client import RELEASES, NotInstalledError
from tests.clients.fixtures import unavailable
from tests.downgrades.cases import cases
from tests.downgrades.findings import Findings, examine
from tests.downgrades.projections import PROJECTIONS
from tests.downgrades.proof import VISIBILITIES, ends, prepare


@pytest.fixture(scope="module")
def examined(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Findings]]]:
    """The findings on the releases that are asked for, as many at a time as there are processors.

    The processes are new ones, since a fork would inherit whatever threads the tests before have left.
    """
    asked = [item.callspec.params.get("found") for item in request.session.items if hasattr(item, "callspec")]
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), prepare) as pool:
        ended = {visibility: pool.submit(ends, cases(), visibility) for visibility in VISIBILITIES}
        try:
            reference = {visibility: future.result() for visibility, future in ended.items()}
        except NotInstalledError as error:
            unavailable(str(error))
        yield {release: pool.submit(examine, release, cases(), reference) for release in RELEASES if release in asked}
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module", params=RELEASES)
def found(examined: dict[str, Future[Findings]], request: pytest.FixtureRequest) -> Findings:
    """What is wrong on one release; pytest runs the tests of one release before those of the next."""
    try:
        return examined[request.param].result()
    except NotInstalledError as error:
        unavailable(str(error))


def test_a_release_accepts_every_case(found: Findings) -> None:
    assert found.rejected == []


def test_a_release_ends_as_its_rows_declare(found: Findings) -> None:
    """With the messages and the state of 1.0.0 on the original, up to the differences that the table declares."""
    assert found.ends_otherwise == []


def test_every_declared_difference_is_there(found: Findings) -> None:
    assert found.without_difference == []


def test_no_two_messages_have_one_id(found: Findings) -> None:
    """From 0.0.37 on, but for what nothing can help: see `doubled`."""
    assert found.doubled == []


def test_rewriting_again_changes_nothing(found: Findings) -> None:
    assert found.changed_again == []


def test_texts_and_calls_keep_their_ids_and_their_order(found: Findings) -> None:
    assert found.disordered == []


def test_a_stream_ends_as_it_did(found: Findings) -> None:
    assert found.closed_otherwise == []


def test_every_difference_has_a_projection_and_a_row() -> None:
    assert set(PROJECTIONS) == set(Difference)
    assert {difference for row in DOWNGRADES for difference in row.differences} == set(Difference)
