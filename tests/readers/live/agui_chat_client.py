"""AGUIChatClient of agent-framework-ag-ui: every text, call and result arrives, and a second turn posts them.

    .ci/producers DIRECTORY                     # among other things; the environments are made there
    python -m tests.readers.live.agui_chat_client > tests/readers/posted/agent-framework-ag-ui.json

Not collected with the rest.
"""

import asyncio
from importlib.metadata import version
from typing import Any

import httpx
import pytest
from agent_framework import Agent
from agent_framework_ag_ui import AGUIChatClient

from tests.readers.decoding import Reading
from tests.readers.drawn import expected
from tests.readers.live.served import SECOND, Served, recorded, runs
from tests.strategies import Json

HEADERS = {"x-ag-ui-client-version": f"agent-framework-ag-ui@{version('agent-framework-ag-ui')}"}


async def converse(served: Served, *said: str) -> list[Any]:
    """The updates of each turn."""
    async with httpx.AsyncClient(transport=served.transport, headers=HEADERS) as http:
        agent = Agent(client=AGUIChatClient(endpoint="http://agent/", http_client=http))
        session = agent.create_session()
        turns = []
        for text in said:
            stream = agent.run(text, stream=True, session=session)
            turns.append([update async for update in stream])
            await stream.get_final_response()  # which the session keeps
        return turns


def received(updates: list[Any]) -> Reading:
    """The texts, calls and results that the application is given."""
    reading = Reading()
    for update in updates:
        for content in update.contents:
            match content.type:
                case "text":
                    id = update.message_id
                    reading.texts[id] = reading.texts.get(id, "") + content.text
                case "function_call":
                    _, arguments = reading.calls.get(content.call_id, ("", ""))
                    reading.calls[content.call_id] = (content.name, arguments + content.arguments)
                case "function_result":
                    reading.results[content.call_id] = content.result
                case "error":
                    reading.error = content.message
    return reading


def read(*turns: list[Json], history: str | None = None) -> tuple[list[Reading], Served]:
    served = Served(turns, history)
    updates = asyncio.run(converse(served, *["hi"] * len(turns)))
    return [received(each) for each in updates], served


@pytest.mark.parametrize("history", [None, "memory://"], ids=["no store", "a store"])
@pytest.mark.parametrize("events", runs())
def test_everything_of_a_generated_run_arrives_and_is_posted_with_the_next(
    events: list[Json], history: str | None
) -> None:
    (first, second), served = read(events, SECOND, history=history)
    wanted = expected(events)
    assert first.error is None
    assert {id: text for id, text in first.texts.items() if text} == {
        id: text for id, text in wanted.texts.items() if text
    }
    assert first.calls == wanted.calls
    assert first.results.keys() == wanted.results.keys()
    assert second.texts == {"second": "bye"}
    calls = [call["id"] for message in served.given[1]["messages"] for call in message.get("toolCalls", ())]
    assert sorted(calls) == sorted(wanted.calls)
    results = [message["toolCallId"] for message in served.given[1]["messages"] if message["role"] == "tool"]
    assert sorted(results) == sorted(wanted.results)


def test_a_call_that_is_continued_after_its_end_is_one_call() -> None:
    call: Json = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f"}
    (first,), _ = read([SECOND[0], call | {"delta": "1"}, SECOND[1], call | {"delta": "2"}, SECOND[2]])
    assert first.calls == {"c": ("f", "12")}


def test_an_error_arrives() -> None:
    (first,), _ = read([SECOND[0], {"type": "RUN_ERROR", "message": "boom"}])
    assert first.error == "boom"


if __name__ == "__main__":
    print(recorded(read(events, SECOND)[1].sent[1] for events in runs()), end="")
