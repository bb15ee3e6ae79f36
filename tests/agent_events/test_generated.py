"""Whatever a loop emits is valid for the protocol's models and for real clients, and there once, under its owner."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from ag_ui.core import Event
from hypothesis import HealthCheck, assume, given, settings
from pydantic import BaseModel, TypeAdapter

from agui_middleware.agent_events import AgentEvent, Done, RunOutcome
from tests.agent_events.loops import AGUIEvent, of_type, stream, translated
from tests.agent_events.strategies import Loop, Owner, Said, disorder, loops, said_word
from tests.clients.client import Client, Outcome

pytestmark = pytest.mark.untraced

Clients = Callable[[str], Client]
Message = dict[str, Any]

EVENT: TypeAdapter[BaseModel] = TypeAdapter(Event)
TERMINAL = {"finished": "RUN_FINISHED", "cancelled": "RUN_FINISHED"}

generated = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def validate(event: AGUIEvent) -> None:
    """Valid as it stands: the models may neither know less than it says nor change anything."""
    model = EVENT.validate_python(event)
    assert not model.model_extra
    assert model.model_dump(mode="json", by_alias=True) == event


def owners(events: Iterable[AGUIEvent]) -> dict[str | None, Owner]:
    """Whose each tag is, by the inputs of the calls that lead there."""
    inputs = {event["toolCallId"]: json.loads(event["delta"])["q"] for event in of_type("TOOL_CALL_ARGS", events)}
    known: dict[str | None, Owner] = {None: ()}
    for event in of_type("SUBAGENT_STARTED", events):
        parent = known[event.get("parentSubagentRunId")]
        known[event["subagentRunId"]] = (*parent, said_word(inputs[event["parentToolCallId"]]))
    return known


def places(message: Message) -> list[tuple[str, str]]:
    """What a message says, and in which role."""
    calls = [("call", call["function"]["arguments"]) for call in message.get("toolCalls", [])]
    content = message.get("content") or ""
    return [*calls, (message["role"], content if isinstance(content, str) else json.dumps(content))]


def find(word: str, messages: Iterable[Message]) -> list[tuple[str, str | None]]:
    """The role and the tag of every place that has the word."""
    found = []
    for message in messages:
        for role, text in places(message):
            found += [(role, message.get("subagentRunId"))] * text.count(word)
    return found


def assert_all_said(said: Iterable[Said], outcome: Outcome, tags: dict[str | None, Owner]) -> None:
    assert outcome.accepted, outcome.error
    for one in said:
        found = [(role, tags[tag]) for role, tag in find(one.word, outcome.messages)]
        assert found == [(one.role, one.owner)]


def is_cancelled(events: Iterable[AgentEvent]) -> bool:
    """Whether the run ends with the outcome that no release before 1.0.0 reads."""
    done = [event.outcome.status for event in events if isinstance(event, Done)]
    return done[:1] == ["cancelled"]


@generated
@given(loops())
def test_loop_becomes_valid_events_with_one_end(generated: Loop) -> None:
    events = translated(*generated.events)
    for event in events:
        validate(event)
    ends = [event["type"] for event in events if event["type"] in ("RUN_FINISHED", "RUN_ERROR")]
    assert ends == [TERMINAL.get(generated.status, "RUN_ERROR")]
    assert events[-1]["type"] == ends[0]


@generated
@given(loops())
def test_loop_has_the_usage_of_all_its_runs(generated: Loop) -> None:
    usage = translated(*generated.events)[-1].get("usage", [{"inputTokens": 0}])
    assert usage == [{"inputTokens": generated.input_tokens}]


@generated
@given(disorder())
def test_disorder_becomes_valid_events(events: list[AgentEvent]) -> None:
    for event in translated(*events):
        if not has_surrogate(event):
            validate(event)


def has_surrogate(event: AGUIEvent) -> bool:
    """Nothing in Python's JSON models takes half an emoji; clients do."""
    return "\\ud83d" in json.dumps(event)


@generated
@given(generated=loops())
def test_newest_client_has_all_that_was_said_under_its_owner(client: Clients, generated: Loop) -> None:
    tags = owners(translated(*generated.events))
    assert_all_said(generated.said, client("1.0.0").read(stream(generated.events)), tags)


@generated
@given(generated=loops())
def test_first_client_with_subagents_has_all_that_was_said_under_its_owner(client: Clients, generated: Loop) -> None:
    assume(not is_cancelled(generated.events))
    tags = owners(translated(*generated.events))
    assert_all_said(generated.said, client("0.0.59").read(stream(generated.events)), tags)


@generated
@given(events=disorder())
def test_newest_client_accepts_disorder(client: Clients, events: list[AgentEvent]) -> None:
    outcome = client("1.0.0").read(stream(events))
    assert outcome.accepted, outcome.error


@generated
@given(events=disorder())
def test_first_client_with_subagents_accepts_disorder(client: Clients, events: list[AgentEvent]) -> None:
    assume(not is_cancelled(events))
    outcome = client("0.0.59").read(stream(events))
    assert outcome.accepted, outcome.error


def test_first_client_with_subagents_does_not_read_a_cancelled_run(client: Clients) -> None:
    """Why to_agui's documentation sends that release through the middleware."""
    outcome = client("0.0.59").read(stream([Done(outcome=RunOutcome(status="cancelled"))]))
    assert not outcome.accepted
