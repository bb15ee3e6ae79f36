"""What a route hides does not leave by the detour of history, whatever an agent does with what it gets back."""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from agui_middleware import AGUIMiddleware, ClientVersion, Event
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.tools import allow_tools
from agui_middleware.history.readings import reading_of
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.posted import Posted
from agui_middleware.stream.sse import Decoder, Frame
from agui_middleware.testing import decode_events, encode_events
from tests.asgi.test_turn import Agent, turn
from tests.clients.client import RELEASES
from tests.strategies import SECRET, Json, plain, runs

FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


class Repeats(Agent):
    """Says everything again that it was given: in the input echo, and in a snapshot; `tags`: with the tags."""

    def __init__(self, first: bytes, *, tags: bool) -> None:
        super().__init__(first)
        self._tags = tags

    async def answer(self, answer: bytes, send: Any) -> None:
        self.streams.append(b"")  # there is always another
        if len(self.given) > 1:
            messages = [message if self._tags else without_tag(message) for message in self.histories[-1]]
            started = {
                "type": "RUN_STARTED",
                "threadId": "t",
                "runId": "r",
                "input": {**self.given[-1], "messages": messages},
            }
            answer = encode_events([started, {"type": "MESSAGES_SNAPSHOT", "messages": messages}, FINISHED])
        await super().answer(answer, send)


def without_tag(message: Json) -> Json:
    return {name: value for name, value in message.items() if name != "subagentRunId"}


async def repeated(run: Sequence[Json], release: str, tags: bool, **route: Any) -> tuple[Repeats, list[bytes]]:
    agent = Repeats(plain(list(run)), tags=tags)
    app = AGUIMiddleware(agent, history="memory://", **route)
    messages: list[Json] = [{"id": "u1", "role": "user", "content": "go"}]
    got = []
    for number in range(2, 5):
        got.append((await turn(messages, release).run(app)).body)
        messages = [*held(messages, got[-1], release), {"id": f"u{number}", "role": "user", "content": "go on"}]
    return agent, got


def held(posted: list[Json], got: bytes, release: str) -> list[Json]:
    """What the client holds after a response."""
    input = Posted.read(json.dumps({"threadId": "t", "runId": "r", "messages": posted}).encode())
    assert input is not None
    conversation = Conversation(input.messages, reading_of(ClientVersion.parse(release)))
    for item in Decoder(10**8).feed(got):
        if isinstance(item, Frame) and item.data is not None:
            conversation.take(Event.parse(item.data))
    return [json.loads(bytes(raw)) for head, raw in conversation.messages() if head.role != "activity"]


def leaves(run: Sequence[Json], release: str, tags: bool, **route: Any) -> tuple[Repeats, list[bytes]]:
    logging.disable(logging.CRITICAL)
    try:
        return asyncio.run(repeated(run, release, tags, **route))
    finally:
        logging.disable(logging.NOTSET)


@given(runs(secrets=True), st.sampled_from(RELEASES), st.booleans())
def test_no_byte_of_a_secret_leaves_by_what_was_restored(run: list[Json], release: str, tags: bool) -> None:
    agent, got = leaves(run, release, tags, visibility="hidden")
    event(f"restored: {SECRET in json.dumps(agent.histories[1])}")
    for body in got:
        assert SECRET.encode() not in body


def restated(body: bytes) -> list[Json]:
    """All messages that the input echoes and snapshots of a response hold."""
    events = decode_events(body)
    return [
        message
        for each in events
        for message in (*each.get("messages", ()), *each.get("input", {}).get("messages", ()))
    ]


@given(runs(), st.sampled_from(RELEASES), st.booleans())
def test_no_call_of_another_tool_leaves_by_what_was_restored(run: list[Json], release: str, tags: bool) -> None:
    agent, got = leaves(run, release, tags, filters=[allow_tools(["search"])])
    event(f"restored: {names_of_calls(agent.histories[1]) - {'search'} != set()}")
    for body in got:
        assert names_of_calls(restated(body)) <= {"search"}
        assert {each.get("toolCallName", "search") for each in decode_events(body)} == {"search"}


def names_of_calls(messages: list[Json]) -> set[str]:
    return {call["function"]["name"] for message in messages for call in message.get("toolCalls") or ()}


@given(runs(), st.sampled_from(RELEASES), st.booleans())
def test_no_reasoning_leaves_by_what_was_restored(run: list[Json], release: str, tags: bool) -> None:
    agent, got = leaves(run, release, tags, filters=[without_reasoning])
    event(f"restored: {'reasoning' in {message['role'] for message in agent.histories[1]}}")
    for body in got:
        assert "reasoning" not in {message["role"] for message in restated(body)}
        assert not any(each["type"].startswith(("REASONING_MESSAGE", "THINKING_")) for each in decode_events(body))
