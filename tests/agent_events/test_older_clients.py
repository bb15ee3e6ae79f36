"""What older releases read of generated loops through the middleware."""

from collections.abc import Callable

import pytest
from hypothesis import given

from agui_middleware import rewrite
from agui_middleware.agent_events import AgentEvent, Done, RunOutcome
from tests.agent_events.loops import stream
from tests.agent_events.strategies import Loop, disorder, loops
from tests.agent_events.test_generated import find, generated
from tests.clients.client import Client

Clients = Callable[[str], Client]

RELEASES = ["0.0.45", "0.0.58", "0.0.59"]


@pytest.mark.parametrize("release", RELEASES)
@generated
@given(written=loops())
def test_older_client_has_all_that_was_said_once(client: Clients, release: str, written: Loop) -> None:
    """Before 0.0.59 a message has no owner to be under: the subagents' are the agent's own."""
    outcome = client(release).read(rewrite(stream(written.events), client=release))
    assert outcome.accepted, outcome.error
    for said in written.said:
        assert [role for role, _ in find(said.word, outcome.messages)] == [said.role]


@pytest.mark.parametrize("release", RELEASES)
@generated
@given(events=disorder())
def test_older_client_accepts_disorder(client: Clients, release: str, events: list[AgentEvent]) -> None:
    outcome = client(release).read(rewrite(stream(events), client=release))
    assert outcome.accepted, outcome.error


@pytest.mark.parametrize("release", RELEASES)
def test_older_client_reads_a_cancelled_run(client: Clients, release: str) -> None:
    cancelled = stream([Done(outcome=RunOutcome(status="cancelled", text="half"))])
    outcome = client(release).read(rewrite(cancelled, client=release))
    assert outcome.accepted, outcome.error


@pytest.mark.parametrize("release", [None, *RELEASES])
@generated
@given(written=loops())
def test_client_of_a_hidden_route_has_what_the_agent_itself_said(
    client: Clients, release: str | None, written: Loop
) -> None:
    hidden = rewrite(stream(written.events), client=release, visibility="hidden")
    outcome = client(release or "1.0.0").read(hidden)
    assert outcome.accepted, outcome.error
    for said in written.said:
        if said.owner:
            assert said.word.encode() not in hidden
        else:
            assert [role for role, _ in find(said.word, outcome.messages)] == [said.role]
