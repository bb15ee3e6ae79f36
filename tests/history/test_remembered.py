"""What real clients post in conversations of three turns, restored. All of it: `python -m tests.history.remembered`."""

from collections.abc import Callable

import pytest

from tests.clients.client import Client
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import cases
from tests.history.remembered import EDITS, Edit, Turn, converse, reason
from tests.history.routes import ROUTES, Route

pytestmark = pytest.mark.untraced

ASKED = ("0.0.28", "0.0.36", "0.0.43", "0.0.45", "0.0.49", "0.0.51", "0.0.54", "0.0.58", "1.0.0")
"""One of each group of releases that hold a conversation alike."""
CHOSEN = cases()[::60]
PAIRS = [(route, EDITS[(place + turn) % len(EDITS)]) for turn in (0, 2) for place, route in enumerate(ROUTES)]


@pytest.mark.parametrize("release", ASKED)
def test_the_agent_gets_what_it_gets_from_1_0_0(client: Callable[[str], Client], release: str) -> None:
    turns = [turn for pair in PAIRS[ASKED.index(release) % 3 :: 3] for turn in _turns(client, release, *pair)]
    assert [str(turn) for turn in turns if not turn.is_as_1_0_0 and reason(turn) is None] == []


def test_the_conversations_need_it(client: Callable[[str], Client]) -> None:
    """Else the test above proves nothing: most differ as they are posted, and few have an excuse."""
    turns = _turns(client, "0.0.43", ROUTES[0], EDITS[0])
    assert sum(turn.posted != turn.original for turn in turns) > len(turns) / 3
    assert sum(not turn.is_as_1_0_0 for turn in turns) < len(turns) / 10


def _turns(client: Callable[[str], Client], release: str, route: Route, edit: Edit) -> list[Turn]:
    return list(converse(client(release), client(REFERENCE), CHOSEN, route, edit))
