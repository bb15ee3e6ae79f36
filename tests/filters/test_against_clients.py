"""The ready-made filters before real clients, on a run with everything in it and on generated ones."""

import json
import re
from collections.abc import Callable, Collection, Sequence

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from agui_middleware import Filter, rewrite
from agui_middleware.filters.promote import promote_results
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.redact import redact
from agui_middleware.filters.tools import allow_tools, deny_tools
from agui_middleware.testing import decode_events, encode_events
from tests.clients.client import Client
from tests.notation import stream
from tests.strategies import Json, plain, runs, without_subagents
from tests.strategies.words import NAMES

StartClient = Callable[[str], Client]

RUN = encode_events(
    stream(
        "RS r; SPAN+ g; GS g; GC g hm; GE g; SPAN- g; EV message g; TS m; TC m hi; TE m; SUB+ s;"
        'KS c m; KA c {"q":1}; KE c; EV tool-call c; KS d m toolCallName="secret"; KA d {}; KE d; EV tool-call d;'
        'KR d td content="psst"; KR c tc content="{\\"found\\":1}"; TK n a @s; TK o b; KK e {} secret; KK _ {};'
        "TK n c @s; TK o d; SUB- s; RF r"
    )
)
RELEASES = ("0.0.45", "0.0.58", "1.0.0")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("visibility", ["auto", "hidden"])
def test_denied_calls_are_nowhere(client: StartClient, release: str, visibility: str) -> None:
    for filter in (deny_tools(["secret"]), allow_tools(["search"])):
        outcome = client(release).read(rewrite(RUN, client=release, visibility=visibility, filters=[filter]))
        assert outcome.accepted, outcome.error
        said = json.dumps(outcome.messages)
        assert "psst" not in said
        assert "secret" not in said
        assert [call["id"] for message in outcome.messages for call in message.get("toolCalls", ())] == ["c"]
        assert [message["id"] for message in outcome.messages if message["role"] == "tool"] == ["tc"]


@pytest.mark.parametrize("release", RELEASES)
def test_reasoning_is_nowhere(client: StartClient, release: str) -> None:
    outcome = client(release).read(rewrite(RUN, client=release, filters=[without_reasoning]))
    assert outcome.accepted, outcome.error
    assert "reasoning" not in {message["role"] for message in outcome.messages}
    assert {"m", "n", "o", "tc", "td"} <= {message["id"] for message in outcome.messages}


@pytest.mark.parametrize("release", RELEASES)
def test_promoted_results_are_the_state(client: StartClient, release: str) -> None:
    for path, state in (("/found", {"found": {"found": 1}}), (None, {"found": 1})):
        promoted = rewrite(RUN, client=release, filters=[promote_results(["search"], path=path)])
        outcome = client(release).read(promoted)
        assert outcome.accepted, outcome.error
        assert outcome.state == state
        assert "tc" in {message["id"] for message in outcome.messages}


def told(messages: Sequence[Json], aside: Collection[str] = ()) -> list[str]:
    """As JSON text, since Python takes True for 1; in any order, since what only a call had made may be made by something
    else, and later; and without messages that say nothing, of which a call may have been the reason.
    """
    left = (message for message in messages if not {message["id"], message.get("toolCallId")} & set(aside))
    return sorted(json.dumps(message, sort_keys=True) for message in left if not _is_empty(message))


def _is_empty(message: Json) -> bool:
    return message["role"] == "assistant" and not message.get("content") and not message.get("toolCalls")


def undecided(events: Sequence[Json], gone: set[str]) -> set[str]:
    """The ids of what the filter cannot know, or make as it was: a result that comes before its call, and a text that goes
    on in a message which a denied call had made, in whatever role.
    """
    ids: set[str] = set()
    opened: set[str] = set()
    made: set[str] = set()
    for event in events:
        call = event.get("toolCallId")
        if event["type"] == "TOOL_CALL_RESULT" and call in gone and call not in opened:
            ids.add(str(call))
        if "toolCallName" in event and call in gone:
            made |= {str(call), str(event.get("parentMessageId", call))}
        if event["type"] in ("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK") and event.get("messageId") in made:
            ids.add(event["messageId"])
        opened |= named([event]).keys()
    return ids


def named(events: Sequence[Json]) -> dict[str, set[str]]:
    """The names by which each tool call goes, in openers and in lists of messages."""
    names: dict[str, set[str]] = {}
    for event in events:
        if "toolCallName" in event and "toolCallId" in event:
            names.setdefault(event["toolCallId"], set()).add(event["toolCallName"])
        for message in (*event.get("messages", ()), *event.get("input", {}).get("messages", ())):
            for call in message.get("toolCalls", ()):
                names.setdefault(call["id"], set()).add(call["function"]["name"])
    return names


def without_calls(messages: Sequence[Json], gone: set[str]) -> list[Json]:
    """The messages without these calls, their results, and what nothing but they made."""
    left = []
    for message in messages:
        calls = message.get("toolCalls", [])
        kept = [call for call in calls if call["id"] not in gone]
        if message.get("toolCallId") in gone or (len(kept) < len(calls) and not kept and "content" not in message):
            continue
        rest = {name: value for name, value in message.items() if name != "toolCalls"}
        left.append(message if kept == calls else rest | ({"toolCalls": kept} if kept else {}))
    return left


@settings(max_examples=20)
@given(events=runs(), denied=st.sets(st.sampled_from(NAMES), min_size=1, max_size=3))
def test_generated_runs_end_without_the_denied_calls_and_with_all_else(
    client: StartClient, events: list[Json], denied: set[str]
) -> None:
    gone = {id for id, names in named(events).items() if names & denied}
    filtered = rewrite(plain(events), filters=[deny_tools(denied)])
    whole, outcome = client("1.0.0").read_many([plain(events), filtered])
    note(filtered.decode("utf-8", "replace"))
    assert outcome.accepted, outcome.error
    aside = undecided(events, gone)
    assert told(outcome.messages, aside) == told(without_calls(whole.messages, gone), aside)
    assert json.dumps(outcome.state) == json.dumps(whole.state)
    assert not {event.get("toolCallId") for event in decode_events(filtered)} & (gone - aside)


@settings(max_examples=20)
@given(events=runs())
def test_generated_runs_end_without_reasoning_and_with_all_else(client: StartClient, events: list[Json]) -> None:
    filtered = rewrite(plain(events), filters=[without_reasoning])
    whole, outcome = client("1.0.0").read_many([plain(events), filtered])
    note(filtered.decode("utf-8", "replace"))
    assert outcome.accepted, outcome.error
    assert told(outcome.messages) == told([message for message in whole.messages if message["role"] != "reasoning"])


@settings(max_examples=20)
@given(events=runs())
def test_generated_runs_end_the_same_where_all_was_held_back_and_nothing_matched(
    client: StartClient, events: list[Json]
) -> None:
    filtered = rewrite(plain(events), filters=[redact(r"(?s).{1,50}never!", raw_events=True)])
    whole, outcome = client("1.0.0").read_many([plain(events), filtered])
    note(filtered.decode("utf-8", "replace"))
    assert outcome.accepted, outcome.error
    assert told(outcome.messages) == told(whole.messages)
    assert json.dumps(outcome.state) == json.dumps(whole.state)


@settings(max_examples=20)
@given(events=runs())
def test_generated_runs_end_with_all_texts_redacted(client: StartClient, events: list[Json]) -> None:
    """Of every string, so that what the client has assembled from pieces, patches and snapshots can be compared."""
    filtered = rewrite(plain(events), filters=[redact("[aeiou]", "")])
    whole, outcome = client("1.0.0").read_many([plain(events), filtered])
    note(filtered.decode("utf-8", "replace"))
    assert outcome.accepted, outcome.error
    for before, after in zip(whole.messages, outcome.messages, strict=True):
        if isinstance(before.get("content"), str) and before["role"] != "tool":
            assert after["content"] == re.sub("[aeiou]", "", before["content"])


FILTERS: list[Filter] = [
    redact("[aeiou]"),
    deny_tools(NAMES[:2]),
    allow_tools(NAMES[:3]),
    without_reasoning,
    promote_results(NAMES[2:], path="/promoted"),
]


@settings(max_examples=20)
@given(
    events=runs(),
    filters=st.lists(st.sampled_from(FILTERS), min_size=1, max_size=3, unique=True),
    release=st.sampled_from(RELEASES),
    visibility=st.sampled_from(["auto", "inline", "hidden"]),
)
def test_filters_visibility_and_downgrades_together_give_what_the_release_reads(
    client: StartClient, events: list[Json], filters: list[Filter], release: str, visibility: str
) -> None:
    body = rewrite(plain(events), client=release, visibility=visibility, filters=filters)
    note(body.decode("utf-8", "replace"))
    outcome = client(release).read(body)
    assert outcome.accepted, outcome.error


@settings(max_examples=20)
@given(events=runs())
def test_hiding_and_denying_are_both_done(client: StartClient, events: list[Json]) -> None:
    denied = set(NAMES[:2])
    gone = {id for id, names in named(events).items() if names & denied}
    body = rewrite(plain(events), visibility="hidden", filters=[deny_tools(denied)])
    whole, outcome = client("1.0.0").read_many([plain(events), body])
    assert outcome.accepted, outcome.error
    aside = undecided(events, gone)
    expected = without_calls(without_subagents(whole.messages, events), gone)
    assert told(outcome.messages, aside) == told(expected, aside)
