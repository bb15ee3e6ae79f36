"""Real clients in conversations of three turns with real servers. All of it: `python -m tests.history.over_http`."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.clients.client import Client
from tests.clients.corpus import REFERENCE
from tests.downgrades.cases import cases
from tests.history.over_http import OverHttp, Talk, store_url
from tests.history.remembered import EDITS, Turn, converse, reason
from tests.history.routes import ROUTES

pytestmark = pytest.mark.untraced

CHOSEN = cases()[::150]
RELEASES = ("0.0.30", "0.0.36", "0.0.45", "0.0.53", "0.0.58", "1.0.0")


@pytest.fixture(scope="module", params=["memory", "sqlite", "redis"])
def server(request: pytest.FixtureRequest) -> Iterator[OverHttp]:
    with store_url(request.param) as url:
        server = OverHttp(url)
        with server.serve():
            yield server


@pytest.mark.parametrize("release", RELEASES)
def test_the_agent_gets_what_it_gets_from_1_0_0(
    client: Callable[[str], Client], server: OverHttp, release: str
) -> None:
    place = RELEASES.index(release)
    chosen, routes = (CHOSEN, ROUTES) if len(server.urls) == 1 else (CHOSEN[place % 2 :: 3], ROUTES[place % 2 :: 2])
    turns: list[Turn] = []
    for number, route in enumerate(routes):
        edit = EDITS[(number + len(release + route.name)) % len(EDITS)]
        talk = Talk(server, client(release), route, f"{release} {route.name}")
        turns += converse(client(release), client(REFERENCE), chosen, route, edit, talk)
    assert len(turns) == 2 * len(routes) * len(chosen)
    assert [turn for turn in turns if turn.given != turn.body], "nothing was restored"
    assert unexplained(turns) == []


def unexplained(turns: Sequence[Turn]) -> list[str]:
    return [str(turn) for turn in turns if not turn.is_as_1_0_0 and reason(turn) is None]
