"""AGUIChatClient of agent-framework-ag-ui: every text, call and result arrives, and later turns post them.

With each turn it names another thread, unless the application passes one on: so these do, as one with a store must.

    .ci/producers DIRECTORY                     # among other things; the environments are made there
    python -m tests.readers.live.agui_chat_client > tests/readers/posted/agent-framework-ag-ui.json

Not collected with the rest.
"""

import asyncio
import json
from importlib.metadata import version
from typing import Any

import httpx
import pytest
from agent_framework import Agent, ChatResponse, Message
from agent_framework_ag_ui import AGUIChatClient

from tests.history.conversations import astray
from tests.readers.canonical import held_by_1_0_0, said, with_other_ids
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
            stream = agent.run(text, stream=True, session=session, options={"metadata": {"thread_id": "t"}})
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


def unnamed(messages: list[Json]) -> list[Json]:
    """Messages without the ids of the user's, which are new in each turn."""
    return [message | {"id": "u"} if message.get("content") in ("hi", "again") else message for message in messages]


def in_any_order(messages: list[Json]) -> list[str]:
    return sorted(json.dumps(message, sort_keys=True) for message in messages)


def test_with_a_store_a_third_turn_gives_the_agent_what_1_0_0_would() -> None:
    """Each message with its id, role, calls, tag and metadata.

    Two things stay: texts stand in the order in which they first say something, and a run that says nothing but reasoning
    leaves nothing behind.
    """
    in_order = 0
    for first, other in zip(runs(), [*runs()[1:], *runs()[:1]], strict=True):
        second = with_other_ids(other, "-2")
        _, agent = read(first, second, SECOND, history="memory://")
        [before, between, after] = [body["messages"] for body in agent.given]
        held = held_by_1_0_0([*held_by_1_0_0(before, first), between[-1]], second)
        wanted, got = unnamed(said([*held, after[-1]])), unnamed(said(after))
        ids = {message["id"] for message in got}
        wanted = [message for message in wanted if "content" in message or message["id"] in ids]
        assert in_any_order(got) == in_any_order(wanted), (first, second)
        assert astray(after) == []
        in_order += got == wanted
    assert in_order > 0.75 * len(runs())


def test_with_a_store_what_the_application_deletes_stays_deleted() -> None:
    """A text, and with a call its result. The session of the second turn is that of the first, without them."""
    agent = Served([TWO_TEXTS, SECOND], "memory://")
    [_, second] = asyncio.run(_without_the_first_answer(agent))
    assert received(second).texts == {"second": "bye"}
    given = agent.given[1]["messages"]
    assert [message["id"] for message in given if message["role"] != "user"] == ["b"]
    assert given[-2] == {"id": "b", "role": "assistant", "content": "two", "subagentRunId": "s"}


TWO_TEXTS: list[Json] = [
    SECOND[0],
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "role": "assistant", "delta": "one"},
    {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "a", "delta": "{}"},
    {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": "1"},
    {"type": "TEXT_MESSAGE_CHUNK", "messageId": "b", "role": "assistant", "delta": "two", "subagentRunId": "s"},
    SECOND[-1],
]


async def _without_the_first_answer(served: Served) -> list[Any]:
    """The updates of two turns of an application that keeps the messages itself, and deletes one with its call."""
    async with httpx.AsyncClient(transport=served.transport, headers=HEADERS) as http:
        client = AGUIChatClient(endpoint="http://agent/", http_client=http)
        options: Any = {"metadata": {"thread_id": "t"}}
        asked = Message(role="user", contents=["hi"])
        first = [update async for update in client.get_response([asked], stream=True, options=options)]
        answered = ChatResponse.from_updates(first).messages
        left = [message for message in answered if message.message_id == "b"]
        again = Message(role="user", contents=["again"])
        second = client.get_response([asked, *left, again], stream=True, options=options)
        return [first, [update async for update in second]]


def test_a_call_that_is_continued_after_its_end_is_one_call() -> None:
    call: Json = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f"}
    (first,), _ = read([SECOND[0], call | {"delta": "1"}, SECOND[1], call | {"delta": "2"}, SECOND[2]])
    assert first.calls == {"c": ("f", "12")}


def test_an_error_arrives() -> None:
    (first,), _ = read([SECOND[0], {"type": "RUN_ERROR", "message": "boom"}])
    assert first.error == "boom"


if __name__ == "__main__":
    print(recorded(read(events, SECOND)[1].sent[1] for events in runs()), end="")
