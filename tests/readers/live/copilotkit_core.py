"""CopilotKit's core, which reads with an @ag-ui/client of its own: every text, call and result arrives, in two turns.

    npm ci --prefix tests/readers/copilotkit    # 80 MB; `.ci/producers` does it
    python -m pytest tests/readers/live/copilotkit_core.py

Not collected with the rest.
"""

import asyncio
import base64
import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agui_middleware import rewrite
from tests.readers.decoding import Reading
from tests.readers.drawn import expected, filled
from tests.readers.live.served import SECOND, Served
from tests.strategies import Json, batch, plain
from tests.strategies import runs as valid

HERE = Path(__file__).parent.parent / "copilotkit"
CORES = {"1.56.4": "0.0.52", "1.75.0": "0.0.59"}
"""By release of the core, the release of @ag-ui/client that it depends on."""

each_core = pytest.mark.parametrize("core", CORES)


@cache
def runs() -> list[list[Json]]:
    """Runs that end well, with nothing that replaces their messages, and without an interrupt, which asks for an answer."""
    unlike = ("RUN_ERROR", "MESSAGES_SNAPSHOT")
    ended = [run for run in batch(valid(max_moves=20), 150) if not any(event["type"] in unlike for event in run)]
    return [run for run in ended if (run[-1].get("outcome") or {}).get("type") != "interrupt"]


@cache
def two_turns(core: str) -> list[Any]:
    """The end of each conversation."""
    streams = [[rewrite(plain(turn), client=CORES[core]) for turn in (run, SECOND)] for run in runs()]
    lines = [json.dumps({"streams": [base64.b64encode(stream).decode() for stream in two]}) for two in streams]
    command = ["node", "harness.mjs", core]
    done = subprocess.run(command, cwd=HERE, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def read(messages: list[Json]) -> Reading:
    """The texts, calls and results of a conversation; pieces of one id are put together."""
    reading = Reading()
    for message in messages:
        if message["role"] == "tool":
            reading.results[message["toolCallId"]] = message["content"]
        elif message["role"] not in ("activity", "reasoning") and isinstance(text := message.get("content"), str):
            reading.texts[message["id"]] = reading.texts.get(message["id"], "") + text
        for call in message.get("toolCalls") or ():
            function = call["function"]
            _, arguments = reading.calls.get(call["id"], ("", ""))
            reading.calls[call["id"]] = (function["name"], arguments + function["arguments"])
    return reading


def has_all(got: Reading, events: list[Json], core: str) -> bool:
    """Whether nothing is lost but what the tables declare: for 0.0.52, what is added to a call behind its result."""
    wanted = expected(events)
    if got.calls.keys() != wanted.calls.keys() or got.results.keys() != wanted.results.keys():
        return False
    calls = [(got.calls[id], whole) for id, whole in wanted.calls.items()]
    cut = CORES[core] < "0.0.58"
    return filled(wanted.texts, events).items() <= got.texts.items() and all(
        name == whole[0] and (whole[1].startswith(arguments) if cut else arguments == whole[1])
        for (name, arguments), whole in calls
    )


@each_core
def test_everything_of_a_generated_run_arrives(core: str) -> None:
    for events, end in zip(runs(), two_turns(core), strict=True):
        assert (end["client"], end["errors"]) == (CORES[core], []), events
        got = read(end["messages"])
        assert has_all(got, events, core), events
        assert got.texts["second"] == "bye", events


@each_core
@pytest.mark.parametrize("history", [None, "memory://"], ids=["no store", "a store"])
def test_the_second_turn_gives_the_agent_the_first(core: str, history: str | None) -> None:
    for events, end in zip(runs(), two_turns(core), strict=True):
        agent = Served([events, SECOND], history)
        asyncio.run(agent.post(CORES[core], *end["posted"]))
        assert has_all(read(agent.given[1]["messages"]), events, core), events
