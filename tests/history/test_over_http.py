"""Real clients in conversations of three turns with a real server. All of it: `python -m tests.history.over_http`."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.client import Client
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import cases
from tests.history.over_http import OverHttp, Talk
from tests.history.remembered import EDITS, ROUTES, converse, reason

pytestmark = pytest.mark.untraced

CHOSEN = cases()[::150]


@pytest.fixture(scope="module")
def server() -> Iterator[OverHttp]:
    server = OverHttp()
    with server.serve():
        yield server


@pytest.mark.parametrize("release", ["0.0.30", "0.0.36", "0.0.45", "0.0.53", "0.0.58", "1.0.0"])
def test_the_agent_gets_what_it_gets_from_1_0_0(
    client: Callable[[str], Client], server: OverHttp, release: str
) -> None:
    turns = []
    for place, route in enumerate(ROUTES):
        edit = EDITS[(place + len(release + route.name)) % len(EDITS)]
        talk = Talk(server, client(release), route, f"{release} {route.name}")
        turns += list(converse(client(release), client(REFERENCE), CHOSEN, route, edit, talk))
    assert len(turns) == 2 * len(ROUTES) * len(CHOSEN)
    assert [turn for turn in turns if turn.given != turn.body], "nothing was restored"
    assert [str(turn) for turn in turns if not turn.is_as_1_0_0 and reason(turn) is None] == []
