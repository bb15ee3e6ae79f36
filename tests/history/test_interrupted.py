"""Some of the runs of `python -m tests.history.interrupted`, in a release from each side of what matters to interrupts."""

from collections.abc import Callable

import pytest

from tests.clients.client import Client
from tests.history.interrupted import DIALECTS, faults, paused_runs

pytestmark = pytest.mark.untraced


@pytest.mark.parametrize("release", ["0.0.27", "0.0.36", "0.0.53", "0.0.57", "1.0.0"])
def test_a_generated_run_that_pauses_is_asked_and_answered(client: Callable[[str], Client], release: str) -> None:
    runs = paused_runs()[::10]
    assert {len(case.events[-1]["outcome"]["interrupts"]) for case in runs} == {1, 2, 3}
    assert any(case.tagged for case in runs)
    for interrupts in DIALECTS:
        assert not [wrong for wrong in faults(client(release), interrupts, runs) if wrong]
