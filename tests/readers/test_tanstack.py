"""Rewritten runs before TanStack's real client: nothing is rejected, and every text, call and result arrives.

`npm ci --prefix tests/readers/tanstack` installs the releases. 0.7.11, with which a row of the table begins, was never
published; 0.7.14 is the first one behind it that was.
"""

import asyncio
import base64
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import RunAgentInput

from agui_middleware import rewrite
from agui_middleware.config.named_clients import parse_client
from tests.clients.fixtures import unavailable
from tests.history.bodies import upgrade
from tests.history.conversations import astray
from tests.readers.canonical import held_by_1_0_0, said, with_other_ids
from tests.readers.decoding import Reading
from tests.readers.drawn import expected, messy
from tests.readers.live.served import Served
from tests.strategies import Json, batch, plain

HERE = Path(__file__).parent / "tanstack"
RELEASES = [name.removeprefix("tanstack-") for name in json.loads((HERE / "package.json").read_text())["dependencies"]]

ANSWER: list[Json] = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "second", "delta": "bye"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r2"},
]

pytestmark = pytest.mark.untraced
each_release = pytest.mark.parametrize("release", RELEASES)


@cache
def drawn() -> list[list[Json]]:
    """Runs that end well, with nothing that replaces their messages in the end."""
    unlike = ("RUN_ERROR", "MESSAGES_SNAPSHOT")
    return [run for run in batch(messy(), 80) if not any(event["type"] in unlike for event in run)]


@cache
def two_turns(release: str) -> list[tuple[list[Json], Any]]:
    """Runs, and the end of each conversation that goes on with an answer."""
    runs, answer = uninterrupted(), served(release, ANSWER)
    return list(zip(runs, converse(release, [[served(release, run), answer] for run in runs]), strict=True))


def uninterrupted() -> list[list[Json]]:
    """Those behind which the user may say something: 0.23.2 and newer refuse that while an interrupt waits."""
    return [run for run in drawn() if (run[-1].get("outcome") or {}).get("type") != "interrupt"]


def converse(release: str, conversations: list[list[bytes]], deletes: list[list[str]] | None = None) -> list[Any]:
    """The end of each conversation: a list of responses, one to each of the user's messages.

    `deletes`: for each, the ids of the messages that the user deletes behind the first response.
    """
    if not (HERE / "node_modules" / f"tanstack-{release}").is_dir():
        unavailable(f"TanStack's client {release} is missing: npm ci --prefix tests/readers/tanstack")
    encoded = [[base64.b64encode(stream).decode() for stream in streams] for streams in conversations]
    deleted = deletes or [[]] * len(encoded)
    lines = [json.dumps({"id": id, "streams": streams, "deletes": deleted[id]}) for id, streams in enumerate(encoded)]
    command = ["node", "harness.mjs", release]
    done = subprocess.run(command, cwd=HERE, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def received(messages: list[Any]) -> Reading:
    """The texts, calls and results that the application holds."""
    reading = Reading()
    for message in messages:
        for part in message["parts"]:
            match part:
                case {"type": "text", "content": text}:
                    reading.texts[message["id"]] = reading.texts.get(message["id"], "") + text
                case {"type": "tool-call", "id": id, "name": name, "arguments": arguments}:
                    reading.calls[id] = (name, arguments)
                case {"type": "tool-result", "toolCallId": id, "content": content}:
                    reading.results[id] = content
    return reading


def served(release: str, events: list[Json]) -> bytes:
    return rewrite(plain(events), client=f"@tanstack/ai-client@{release}")


@each_release
def test_everything_of_a_generated_run_arrives(release: str) -> None:
    ends = converse(release, [[served(release, events)] for events in drawn()])
    for events, end in zip(drawn(), ends, strict=True):
        wanted, got = expected(events), received(end["messages"])
        assert end["error"] is None, events
        assert {id: text for id, text in got.texts.items() if id in wanted.texts} == {
            id: text for id, text in wanted.texts.items() if text
        }, events
        assert got.calls == wanted.calls, events
        if release != "0.7.9":  # which ignores them
            assert got.results.keys() == wanted.results.keys(), events


RUN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
DONE: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
CALL: list[Json] = [
    {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
    {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"},
    {"type": "TOOL_CALL_END", "toolCallId": "c"},
]


def text(*deltas: str) -> list[Json]:
    of_m: Json = {"messageId": "m"}
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "delta": delta} | of_m for delta in deltas]
    return [{"type": "TEXT_MESSAGE_START", "role": "assistant"} | of_m, *contents, {"type": "TEXT_MESSAGE_END"} | of_m]


BEFORE_A_TEXT = {
    "call, text": [*CALL, *text("x", "y")],
    "call inside a text that has said nothing": [text()[0], *CALL, *text("x", "y")[1:]],
    "call of a text that has said nothing": [
        text()[0],
        CALL[0] | {"parentMessageId": "m"},
        *CALL[1:],
        *text("x", "y")[1:],
    ],
    "call, text that goes on after its end": [*CALL, *text("x", "y"), *text("z")],
}


@each_release
@pytest.mark.parametrize("name", BEFORE_A_TEXT)
def test_a_text_behind_a_call_keeps_its_beginning(release: str, name: str) -> None:
    """0.26.0 loses the first piece of each, older ones all of the last but what comes after its end."""
    events = [RUN, *BEFORE_A_TEXT[name], DONE]
    [end] = converse(release, [[served(release, events)]])
    wanted, got = expected(events), received(end["messages"])
    assert got.texts["m"] == wanted.texts["m"]
    assert got.calls == wanted.calls


@each_release
def test_a_second_turn_is_read_and_posts_the_first(release: str) -> None:
    """From 0.10 on a request holds the conversation as RunAgentInput; before, as TanStack's own messages."""
    for events, end in two_turns(release):
        assert end["error"] is None, events
        assert received(end["messages"]).texts["second"] == "bye", events
        posted = [message["id"] for message in end["posted"][-1]["messages"]]
        assert {id for id, text in expected(events).texts.items() if text} <= set(posted), events
        takes(given(release, end["posted"][-1]), expected(events), release)


@each_release
def test_with_a_store_a_third_turn_gives_the_agent_what_1_0_0_would(release: str) -> None:
    """Each message with its id, role, calls, tag and metadata, in order, though TanStack has ids and places of its own."""
    runs = uninterrupted()
    pairs = [(run, with_other_ids(other, "-2")) for run, other in zip(runs[::2], runs[1::2], strict=False)]
    ends = converse(release, [[served(release, run) for run in (*pair, ANSWER)] for pair in pairs])
    for (first, second), end in zip(pairs, ends, strict=True):
        agent = posting(release, [first, second, ANSWER], end["posted"])
        [before, between, after] = [body["messages"] for body in agent.given]
        held = held_by_1_0_0([*held_by_1_0_0(before, first), between[-1]], second)
        assert said(held) == said(after[:-1]), (first, second)


@each_release
def test_with_a_store_what_the_user_deletes_stays_deleted(release: str) -> None:
    """A message with its calls and their results; all others come back as they are without that."""
    runs = [run for run in uninterrupted()[::2] if any(expected(run).texts.values())]
    deleted = [next(id for id, text in expected(run).texts.items() if text) for run in runs]
    answer = served(release, ANSWER)
    ends = converse(release, [[served(release, run), answer] for run in runs], [[id] for id in deleted])
    for events, id, end in zip(runs, deleted, ends, strict=True):
        body = posting(release, [events, ANSWER], end["posted"]).given[-1]
        RunAgentInput.model_validate(body, by_alias=True, by_name=False)
        assert astray(body["messages"]) == []
        messages = {message["id"]: message for message in said(body["messages"])}
        assert id not in messages, events
        for message in said(held_by_1_0_0([], events)):
            if message["role"] not in ("tool", "reasoning") and "content" in message and message["id"] != id:
                assert without_calls(messages[message["id"]]) == without_calls(message), events
        posted = {call["id"] for message in taken(release, end) for call in message.get("toolCalls", ())}
        calls = [call["id"] for message in body["messages"] for call in message.get("toolCalls", ())]
        assert sorted(calls) == sorted(posted), events


def taken(release: str, end: Any) -> list[Json]:
    """What the client posts last, as a server takes it without a store."""
    messages: list[Json] = given(release, end["posted"][-1])["messages"]
    return messages


def without_calls(message: Json) -> Json:
    return {name: value for name, value in message.items() if name != "toolCalls"}


def posting(release: str, runs: list[list[Json]], posted: list[Json]) -> Served:
    """An agent with a store, to which the client has posted what the user has typed, and not what it asks by itself."""
    agent = Served(runs, history="memory://")
    typed = [body for body in posted if body["messages"][-1]["role"] == "user"]
    asyncio.run(agent.post(f"@tanstack/ai-client@{release}", *map(without_own_runs, typed)))
    return agent


def without_own_runs(body: Json) -> Json:
    """A body without what the harness has answered to what the client asked for by itself."""
    return body | {"messages": [message for message in body["messages"] if message["id"] != "harness-answer"]}


def given(release: str, posted: Json) -> Json:
    """A body that the client has posted, as the endpoint gets it: what a server of today takes."""
    after = upgrade(json.dumps(posted).encode(), parse_client(f"@tanstack/ai-client@{release}"))
    body: Json = json.loads(after)
    RunAgentInput.model_validate(body, by_alias=True, by_name=False)
    return body


def takes(body: Json, wanted: Reading, release: str) -> None:
    """Every call is there with its result behind it, and no member but the protocol's beside the messages."""
    assert not body.keys() & {"data", "parts"}
    messages = body["messages"]
    calls = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    assert sorted(calls) == sorted(wanted.calls)
    results = {message["toolCallId"] for message in messages if message["role"] == "tool"}
    if release != "0.7.9":  # which ignores them
        assert results == wanted.results.keys()
    assert astray(messages) == []
