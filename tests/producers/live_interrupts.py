"""Graphs that pause behind ag-ui-langgraph: each client is asked, and answers, in its dialect. `.ci/producers` runs this.

Real releases over HTTP. What the application gives to a run with its answer is what chats of each dialect give.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.types import ASGIApp

from agui_middleware import AGUIMiddleware
from tests.clients.client import Client, Outcome, Run
from tests.producers.live_history import needs
from tests.proxy.servers import serving

Json = dict[str, Any]
Answered = list[Any]
CITY, SURE = {"question": "Which city?"}, "Sure?"
USER = {"id": "u", "role": "user", "content": "Book a trip."}
OUTCOMES: Json = {"enable_legacy_on_interrupt_event": False}
BOTH: Json = {"emit_interrupt_outcome": True}
COMMANDS: Json = {}  # the default of ag-ui-langgraph
STORE: Json = {"history": "memory://"}


def _served(graph: Any, **options: Any) -> ASGIApp:
    from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
    from fastapi import FastAPI

    class Agent(LangGraphAgent):
        """Hands answers to several interrupts to the graph as LangGraph wants them; ag-ui-langgraph leaves that to users."""

        def _build_command_from_agui_resume(self, entries: Any, **rest: Any) -> Any:
            from langgraph.types import Command

            if len(entries) == 1:
                return super()._build_command_from_agui_resume(entries, **rest)
            return Command(resume={each.interrupt_id: each.payload or each.status for each in entries})

    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, Agent(name="agent", graph=graph, emit_raw_events=False, **options), "/agent")
    return app


def _asks_twice(answered: Answered) -> Any:
    """One node asks for two things, the second one once it has the first. `answered` gets both."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    from tests.producers.apps.langgraph import Talk, _says

    async def ask(state: Talk) -> Any:
        both = [interrupt(CITY), interrupt(SURE)]
        answered.extend(both)
        return {"drawn": [json.dumps(each) for each in both]}

    graph = StateGraph(Talk).add_node("ask", ask).add_node("sum", _says("Booked.")).add_edge(START, "ask")
    return graph.add_edge("ask", "sum").compile(checkpointer=InMemorySaver())


def _asks_side_by_side(answered: Answered) -> Any:
    """Two nodes ask at once."""
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    from tests.producers.apps.langgraph import Talk

    def asking(question: Any) -> Any:
        async def ask(state: Talk) -> Any:
            answered.append((question, interrupt(question)))
            return {}

        return ask

    graph = StateGraph(Talk).add_node("city", asking(CITY)).add_node("sure", asking(SURE))
    return graph.add_edge(START, "city").add_edge(START, "sure").compile(checkpointer=InMemorySaver())


def by_resume(outcome: Outcome, *payloads: Any) -> Json:
    """What a chat of the standard gives to its run: an entry for each open interrupt."""
    pairs = zip(outcome.interrupts, payloads, strict=True)
    return {"resume": [{"interruptId": each["id"], "status": "resolved", "payload": one} for each, one in pairs]}


def by_command(outcome: Outcome, payload: Any) -> Json:
    """What `useLangGraphInterrupt` gives to its run."""
    assert outcome.asked
    return {"forwardedProps": {"command": {"resume": payload}}}


def by_echo(outcome: Outcome, payload: Any) -> Json:
    """What `useInterrupt` gives to its run since spring 2026."""
    return {"forwardedProps": {"command": {"resume": payload, "interruptEvent": outcome.asked[-1]}}}


async def converse(app: ASGIApp, client: Client, *answers: Callable[[Outcome], Json]) -> list[Outcome]:
    """The ends of a first run and of one for each answer."""
    async with serving(app) as url:
        run = Run(b"", [USER], url=f"{url}/agent")
        outcomes: list[Outcome] = []
        for answer in [None, *answers]:
            if answer is not None:
                run = Run(b"", outcomes[-1].messages, url=f"{url}/agent", parameters=answer(outcomes[-1]))
            [outcome] = await asyncio.to_thread(client.read_many, [run])
            assert outcome.accepted, outcome.error
            assert outcome.run_error is None
            outcomes.append(outcome)
    return outcomes


def texts(outcome: Outcome) -> list[Any]:
    return [message["content"] for message in outcome.messages if message["role"] == "assistant"]


def goes_on(client: Client, app: Callable[[Answered], ASGIApp], answer: Callable[..., Json]) -> list[Outcome]:
    """The ends of a conversation with a graph that asks twice, which goes on with either answer."""
    answered: Answered = []
    first, second = {"city": "Rome"}, "yes"
    outcomes = asyncio.run(
        converse(app(answered), client, lambda asked: answer(asked, first), lambda asked: answer(asked, second))
    )
    assert answered == [first, second]
    assert texts(outcomes[-1]) == ["Booked."]
    return outcomes


def twice(middleware: Json, **agent: Any) -> Callable[[Answered], ASGIApp]:
    return lambda answered: AGUIMiddleware(_served(_asks_twice(answered), **agent), **middleware)


@needs("langgraph")
@pytest.mark.parametrize(
    ("agent", "history", "answer", "translated"),
    [
        pytest.param(OUTCOMES, STORE, by_command, True, id="outcomes, store"),
        pytest.param(
            OUTCOMES, {}, by_echo, False, id="outcomes, echo"
        ),  # the second question is a string: it has no room
        pytest.param(BOTH, STORE, by_command, True, id="both, store"),
        pytest.param(BOTH, STORE, by_echo, True, id="both, store, echo"),
        pytest.param(COMMANDS, STORE, by_command, False, id="commands"),
    ],
)
@pytest.mark.parametrize(
    ("release", "interrupts"),
    [
        ("0.0.36", "auto"),
        ("0.0.45", "auto"),
        ("0.0.53", "auto"),
        ("0.0.57", "custom"),
        ("0.0.58", "custom"),
        ("1.0.0", "custom"),
    ],
)
def test_an_answer_by_command_reaches_the_graph(
    client: Callable[[str], Client],
    caplog: pytest.LogCaptureFixture,
    release: str,
    interrupts: str,
    history: Json,
    answer: Any,
    agent: Json,
    translated: bool,
) -> None:
    ends = goes_on(client(release), twice({"interrupts": interrupts, **history}, **agent), answer)
    assert [len(end.asked) for end in ends] == [1, 1, 0]
    assert [end.interrupts for end in ends] == [[], [], []]
    assert ("command.resume is deprecated" not in caplog.text) is translated  # ag-ui-langgraph, where it finds one


@needs("langgraph")
@pytest.mark.parametrize("agent", [OUTCOMES, BOTH], ids=["outcomes", "both"])
@pytest.mark.parametrize("release", ["0.0.57", "0.0.58", "1.0.0"])
def test_an_answer_by_resume_reaches_the_graph(client: Callable[[str], Client], release: str, agent: Json) -> None:
    ends = goes_on(client(release), twice(STORE, **agent), by_resume)
    assert [len(end.interrupts) for end in ends] == [1, 1, 0]


@needs("langgraph")
@pytest.mark.parametrize("history", [STORE, {}], ids=["store", "no store"])
@pytest.mark.parametrize("release", ["0.0.57", "0.0.58", "1.0.0"])
def test_an_agent_of_the_older_dialect_is_answered_by_resume(
    client: Callable[[str], Client], release: str, history: Json
) -> None:
    ends = goes_on(client(release), twice({"interrupts": "outcome", **history}, **COMMANDS), by_resume)
    assert [len(end.interrupts) for end in ends] == [1, 1, 0]


@needs("langgraph")
@pytest.mark.parametrize("release", ["0.0.36", "0.0.45", "0.0.53"])
def test_of_two_at_once_each_gets_its_answer(client: Callable[[str], Client], release: str) -> None:
    answered: Answered = []
    app = AGUIMiddleware(_served(_asks_side_by_side(answered), **OUTCOMES))

    def by_ids(outcome: Outcome) -> Json:
        first = outcome.asked[0]
        address = json.loads(first)["aguiInterrupt"]
        [other] = address["others"]
        answers = {address["id"]: "Rome", other["id"]: "yes"}
        return {"forwardedProps": {"command": {"resume": answers, "interruptEvent": first}}}

    asked, _ = asyncio.run(converse(app, client(release), by_ids))
    assert len(asked.asked) == 2
    assert sorted(answered, key=repr) == sorted([(CITY, "Rome"), (SURE, "yes")], key=repr)


@needs("langgraph")
@pytest.mark.parametrize("release", ["0.0.36", "0.0.45", "0.0.53"])
def test_of_two_at_once_the_one_that_is_not_answered_is_cancelled(
    client: Callable[[str], Client], release: str
) -> None:
    answered: Answered = []
    app = AGUIMiddleware(_served(_asks_side_by_side(answered), **OUTCOMES), **STORE)
    asyncio.run(
        converse(app, client(release), lambda outcome: by_echo(outcome, "yes") if outcome.asked[-1] == SURE else {})
    )
    assert sorted(answered, key=repr) == sorted([(CITY, "cancelled"), (SURE, "yes")], key=repr)


@needs("langgraph")
@pytest.mark.parametrize("release", ["0.0.45", "0.0.53"])
def test_without_the_middleware_such_a_client_is_not_asked(client: Callable[[str], Client], release: str) -> None:
    """What `outcomes` costs a client that ignores them, and what the tests above therefore prove."""
    [outcome] = asyncio.run(converse(_served(_asks_twice([]), **OUTCOMES), client(release)))
    assert (outcome.asked, outcome.interrupts) == ([], [])
