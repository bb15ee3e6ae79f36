"""Calls of the tools that the client did not declare do not reach it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from agui_middleware import rewrite
from agui_middleware.config.references import referenced
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.tools import allow_tools, deny_tools, server_tools_private
from agui_middleware.testing import decode_events, encode_events, run_filter
from tests.clients.client import Client
from tests.filters.test_against_clients import RUN, named, told, undecided, without_calls
from tests.notation import Json, stream
from tests.strategies import plain, runs
from tests.strategies.words import NAMES

StartClient = Callable[[str], Client]
RELEASES = ("0.0.36", "0.0.58", "1.0.0")


def declaring(*names: str, messages: Any = (), **members: Any) -> Json:
    return {"threadId": "t", "runId": "r", "messages": messages, "tools": [{"name": name} for name in names], **members}


def call(id: str, name: str) -> Json:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}


async def left(
    events: list[Json] | str, input: Mapping[str, Any] | None, losses: list[Loss] | None = None
) -> list[Json]:
    given = stream(events) if isinstance(events, str) else events
    return await run_filter(server_tools_private, given, input=input, losses=losses)


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ("KS c; KA c {}; KE c; KR c t", "KS c; KA c {}; KE c; KR c t"),
        ('KS c toolCallName="own"; KA c {}; KE c; KR c t; TS m', "TS m"),
        ('KS c toolCallName="own" @s; KA c {} @s; KE c @s; KR c t @s', ""),
        ('KS c toolCallName="own"; KS d; KA c {}; KA d {}; KE c; KE d', "KS d; KA d {}; KE d"),
        ('KS c toolCallName="own"; KE c; EV tool-call c; KR c t; EV message t', ""),
        ("KK c _ own; KK _ {}; TK m hi; RF r", "TS m; TC m hi; TE m; RF r"),
        ("KK c _ own; KK d _ search; KK _ {}; RF r", "KS d; KA d {}; KE d; RF r"),
        ("KR c t; EV tool-call c", ""),
        ('KS c rawEvent={"name":"own"}; RAW; KE c', "KS c; KE c"),
        ('KS c toolCallName="own"; KE c; RF r outcome={"type":"success","pendingToolCallIds":["c"]}', "OUTCOME"),
    ],
)
async def test_all_of_a_call_of_the_servers_stays_with_it(events: str, shown: str) -> None:
    finished = 'RF r outcome={"type":"success","pendingToolCallIds":[]}'
    assert await left(events, declaring("search")) == stream(shown.replace("OUTCOME", finished))


async def test_what_restates_a_call_goes_too() -> None:
    own: Json = {"id": "m", "role": "assistant", "content": "I look.", "toolCalls": [call("c", "own")]}
    both: Json = {"id": "n", "role": "assistant", "toolCalls": [call("d", "own"), call("e", "search")]}
    answer: Json = {"id": "t", "role": "tool", "toolCallId": "c", "content": "x"}
    shown = [{"id": "m", "role": "assistant", "content": "I look."}, {**both, "toolCalls": [call("e", "search")]}]
    for wrap in (_snapshot, _echo):
        assert await left([wrap([own, answer, both])], declaring("search")) == [wrap(shown)]


def _snapshot(messages: list[Json]) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages}


def _echo(messages: list[Json]) -> Json:
    return {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"messages": messages}}


async def test_the_clients_own_call_of_an_earlier_run_is_known_by_what_it_posts() -> None:
    asked = {"id": "m", "role": "assistant", "toolCalls": [call("c", "search"), call("d", "own"), {"id": "e"}, 5]}
    input = declaring("search", messages=[asked, {"id": "u", "role": "user", "content": "?"}, 5])
    assert await left("KR c t; KR d u; KR e v", input) == stream("KR c t")


async def test_a_call_that_is_posted_under_another_name_is_the_servers() -> None:
    input = declaring("search", messages=[{"id": "m", "role": "assistant", "toolCalls": [call("c", "search")]}])
    assert await left('KS c toolCallName="own"; KA c {}; KE c; KR c t', input) == []


@pytest.mark.parametrize(
    "tools", [None, 5, "search", {"name": "search"}, [], ["search"], [{"name": 5}], [{}], [{"name": "Search"}]]
)
async def test_what_declares_no_tool_declares_none(tools: object) -> None:
    losses: list[Loss] = []
    assert await left("KS c; KE c; TS m", declaring() | {"tools": tools}, losses) == stream("TS m")
    assert losses == []
    without = {name: value for name, value in declaring().items() if name != "tools"}
    assert await left("KS c; KE c; TS m", without) == stream("TS m")


async def test_where_the_input_is_not_known_no_call_is_shown_which_is_reported() -> None:
    losses: list[Loss] = []
    assert await left("RS r; TS m; KS c; KE c; TE m; RF r", None, losses) == stream("RS r; TS m; TE m; RF r")
    assert [loss.feature for loss in losses] == ["tool calls"]
    assert "posted input is not known" in losses[0].reason
    assert await left("RS r; TS m; TE m; RF r", None, losses) == stream("RS r; TS m; TE m; RF r")
    assert len(losses) == 1  # nothing was lost


async def test_the_agents_own_events_are_reported_where_they_go() -> None:
    losses: list[Loss] = []
    await left("RAW; RAW", declaring(), losses)
    assert [loss.feature for loss in losses] == ["RAW events"]


async def test_an_event_that_loses_nothing_keeps_its_bytes() -> None:
    body = b'data: {"type": "KS", "x": 1.0}\n\ndata: {"type":"TOOL_CALL_ARGS", "toolCallId":"c","delta":"\\u00e9"}\n\n'
    opened = encode_events(stream("KS c"))
    assert rewrite(opened + body, filters=[server_tools_private], input=declaring("search")) == opened + body


@pytest.mark.parametrize(("filter", "shown"), [(deny_tools(["own"]), "d"), (allow_tools(["search"]), "d")])
async def test_an_event_from_after_this_release_goes_with_its_call(filter: Any, shown: str) -> None:
    later: list[Json] = [{"type": "TOOL_CALL_PROGRESS", "toolCallId": id, "share": 0.5} for id in ("c", "d")]
    opened = stream('KS c toolCallName="own"; KS d')
    assert await run_filter(filter, [*opened, *later]) == [opened[1], later[1]]
    assert await run_filter(filter, [{"type": "NOTE"}]) == [{"type": "NOTE"}]


def test_a_configuration_names_it_by_its_import_string() -> None:
    assert referenced("agui_middleware.filters.tools:server_tools_private") is server_tools_private


# Before real clients.


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("visibility", ["auto", "hidden"])
def test_calls_that_the_client_did_not_declare_are_nowhere(client: StartClient, release: str, visibility: str) -> None:
    filters, input = [server_tools_private], declaring("search")
    body = rewrite(RUN, client=release, visibility=visibility, filters=filters, input=input)
    outcome = client(release).read(body)
    assert outcome.accepted, outcome.error
    said = json.dumps(outcome.messages)
    assert "psst" not in said
    assert "secret" not in said
    assert [call["id"] for message in outcome.messages for call in message.get("toolCalls", ())] == ["c"]
    assert [message["id"] for message in outcome.messages if message["role"] == "tool"] == ["tc"]


@settings(max_examples=20)
@given(events=runs(), declared=st.sets(st.sampled_from(NAMES), max_size=3), release=st.sampled_from(RELEASES))
def test_generated_runs_end_without_the_servers_calls_and_with_all_else(
    client: StartClient, events: list[Json], declared: set[str], release: str
) -> None:
    gone = {id for id, names in named(events).items() if names - declared}
    filters, input = [server_tools_private], declaring(*declared)
    filtered = rewrite(plain(events), filters=filters, input=input)
    whole, outcome = client("1.0.0").read_many([plain(events), filtered])
    note(filtered.decode("utf-8", "replace"))
    assert outcome.accepted, outcome.error
    aside = undecided(events, gone) | results_first(events)
    assert told(outcome.messages, aside) == told(without_calls(whole.messages, gone), aside)
    assert json.dumps(outcome.state) == json.dumps(whole.state)
    assert not {event.get("toolCallId") for event in decode_events(filtered)} & gone
    assert client(release).read(rewrite(plain(events), client=release, filters=filters, input=input)).accepted


def results_first(events: list[Json]) -> set[str]:
    """The calls whose result comes before anything has said their names: this filter does not show it."""
    ids: set[str] = set()
    for place, event in enumerate(events):
        if event["type"] == "TOOL_CALL_RESULT" and event["toolCallId"] not in named(events[:place]):
            ids.add(event["toolCallId"])
    return ids
