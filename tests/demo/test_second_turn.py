"""The demo's second turn: what a client posts after a stream, and what the agent gets of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agui_middleware import rewrite
from agui_middleware.testing import encode_events
from tests.clients.client import Client
from tests.demo.test_trace import sample, traced
from tests.notation import stream
from tests.readers.test_tanstack import converse, given


def turn(events: bytes, client: str, visibility: str = "auto") -> dict[str, Any]:
    [turn] = [record["turn"] for record in traced(events, client, visibility) if "turn" in record]
    return {name: [json.loads(text) for text in turn[name]] for name in ("posted", "given")} | {
        "restored": turn["restored"],
        "answer": turn["answer"] and {side: json.loads(text) for side, text in turn["answer"].items()},
    }


def test_what_the_client_could_not_be_given_comes_back_and_is_marked() -> None:
    events = encode_events(stream("RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m; RF r"))
    told = turn(events, "0.0.58", "hidden")
    assert [message["id"] for message in told["posted"]] == ["user-1", "m", "user-2"]
    assert [message["id"] for message in told["given"]] == ["user-1", "n", "m", "user-2"]
    assert told["restored"] == [1]
    inline = turn(events, "0.0.45")
    assert "subagentRunId" not in json.dumps(inline["posted"])
    assert inline["given"][1]["subagentRunId"] == "s"


def test_nothing_is_restored_where_nothing_was_lost() -> None:
    told = turn(encode_events(stream("RS r; TS m; TC m hi; TE m; AS a; RF r")), "0.0.58")
    assert told["posted"] == told["given"]
    assert told["restored"] == []


def test_a_current_client_has_no_second_turn_to_tell_of() -> None:
    assert not any("turn" in record for record in traced(sample(), "current"))


@pytest.mark.parametrize("release", ["0.0.36", "0.0.45", "0.0.58"])
def test_the_imagined_client_posts_what_the_real_one_does(client: Callable[[str], Client], release: str) -> None:
    told = turn(sample(), release)
    user, *_, again = told["posted"]
    reader = client(release)
    held = reader.read(rewrite(sample(), client=release), messages=[user]).messages
    posted = json.loads(
        reader.read(rewrite(encode_events(stream("RS r; RF r")), client=release), messages=[*held, again]).posted
    )
    assert [message["id"] for message in told["posted"]] == [message["id"] for message in posted["messages"]]
    assert told["posted"] == posted["messages"]


def test_an_sdk_posts_what_it_holds_and_no_more() -> None:
    events = encode_events(stream("RS r; GS g; GC g hm; GE g; TS m @s; TC m hi; TE m; KS c m; KE c; KR c t; RF r"))
    told = turn(events, "@tanstack/ai-client@0.7.9")
    assert [message["id"] for message in told["posted"]] == ["user-1", "m", "user-2"]
    assert [message["id"] for message in told["given"]] == ["user-1", "g", "m", "t", "user-2"]
    assert told["restored"] == [1, 2, 3]
    newer = turn(events, "@tanstack/ai-client@0.33.2")
    assert [message["id"] for message in newer["posted"]] == ["user-1", "m", "t", "user-2"]
    assert newer["given"] == told["given"]


@pytest.mark.parametrize("release", ["0.7.14", "0.33.2"])
def test_the_imagined_sdk_posts_the_texts_that_the_real_one_does(release: str) -> None:
    told = turn(sample(), f"@tanstack/ai-client@{release}")
    streams = [rewrite(events, client=f"@tanstack/ai-client@{release}") for events in (sample(), NOTHING)]
    [end] = converse(release, [streams])
    posted = [body for body in end["posted"] if body["messages"][-1]["role"] == "user"][-1]
    assert texts(told["posted"]) == texts(given(release, posted)["messages"])


NOTHING = encode_events(stream("RS r2; RF r2"))


def texts(messages: list[dict[str, Any]]) -> dict[str, str]:
    """What the assistant says, by id."""
    said = [message for message in messages if message["role"] == "assistant" and message.get("content")]
    return {message["id"]: message["content"] for message in said}


def paused(*, announced: Any = None, asks: bool = True) -> bytes:
    """A run that ends with an interrupt, `announced` in the older dialect too where that is given."""
    started, finished = ({"type": type, "threadId": "t", "runId": "r"} for type in ("RUN_STARTED", "RUN_FINISHED"))
    custom = [{"type": "CUSTOM", "name": name, "value": announced} for name in ("progress", "on_interrupt")]
    outcome = {"outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "approval"}]}} if asks else {}
    return encode_events([started, *(custom if announced else ()), finished | outcome])


RESUMED = [{"interruptId": "i", "status": "resolved", "payload": {"approved": True}}]


@pytest.mark.parametrize("release", ["0.0.34", "0.0.53"])
@pytest.mark.parametrize("announced", [None, '"Go on?"'])
def test_an_older_client_is_asked_and_answers_in_its_own_dialect(release: str, announced: str | None) -> None:
    told = turn(paused(announced=announced), release)
    command = told["answer"]["posted"]["forwardedProps"]["command"]
    assert command["resume"] == {"approved": True}
    assert command["interruptEvent"] == announced or command["interruptEvent"]["id"] == "i"
    assert told["answer"]["given"]["resume"] == RESUMED
    assert [message["id"] for message in told["posted"]] == ["user-1"]  # and types nothing


def test_a_client_that_reads_outcomes_answers_in_the_standard() -> None:
    told = turn(paused(announced="Go on?"), "0.0.54")
    assert told["answer"] == {"posted": {"resume": RESUMED}, "given": {"resume": RESUMED}}


def test_an_agent_of_the_older_dialect_gets_the_answer_as_it_is_posted() -> None:
    answer = turn(paused(announced="Go on?", asks=False), "0.0.58")["answer"]
    assert answer["given"] == answer["posted"]
    assert answer["posted"]["forwardedProps"]["command"]["interruptEvent"] == "Go on?"


@pytest.mark.parametrize("events", [paused(asks=False), paused() + paused(asks=False), paused(announced="Go on?")])
def test_nothing_is_answered_where_nobody_was_asked(events: bytes) -> None:
    release = "0.0.58" if b"Go on?" not in events else "0.0.30"  # which hands CUSTOM events to nobody
    told = turn(events, release)
    assert told["answer"] is None
    assert told["posted"][-1]["id"] == "user-2"
