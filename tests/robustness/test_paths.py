"""A part of `python -m tests.robustness.paths`, which asks for the secret ten thousand times."""

from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

from agui_middleware import AGUIMiddleware, Route, Settings
from tests.robustness.agents import FRAMES
from tests.robustness.exchange import Exchange, sends
from tests.robustness.paths import SERVED, SERVERS, attack, options, requests
from tests.robustness.paths_served import CONFIGURATIONS, FRAMEWORKS, OWN_ROOT
from tests.robustness.servers import running


@pytest.mark.parametrize("prefix", ["", OWN_ROOT], ids=["root", "prefix"])
@pytest.mark.parametrize("name", SERVERS)
def test_no_path_of_any_server_and_framework_leads_to_what_a_route_hides(
    name: str, prefix: str, tmp_path: Path
) -> None:
    with running(name, tmp_path, SERVED, options(name, prefix)) as server:
        result = attack(server, 15, 600, prefix)
    assert result.leaks == []
    # Without the middleware the same requests get the secret, and behind it they reach the agent, which is given it again.
    expected = ("hidden", "secret", "restored")
    assert set(result.reached) >= {f"{framework} {what}" for framework in FRAMEWORKS for what in expected}


async def test_no_drawn_path_shows_what_no_route_has() -> None:
    """Whatever the app makes of a path: this one serves the secret on any."""
    app = AGUIMiddleware(sends(*FRAMES), Settings(routes=[Route(path="/agent", visibility="hidden")]))
    for request in requests(1, 2000, OWN_ROOT):
        exchange = Exchange(unquote(request.path.decode(), errors="surrogateescape"), method=request.method)
        assert b"SECRET" not in (await exchange.run(app)).body


def test_every_configuration_and_framework_is_drawn() -> None:
    drawn = Counter(request.scenario for request in requests(2, 2000, ""))
    roots = {(framework, root) for framework, root, _ in (scenario.split(" ", 2) for scenario in drawn)}
    assert roots == {(name, "none") for name in FRAMEWORKS} | {("fastapi", "own"), ("django", "own")}
    assert {scenario.split(" ", 2)[2] for scenario in drawn} == CONFIGURATIONS.keys()
