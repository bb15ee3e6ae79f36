"""What a route hides does not leave by the detour of history, whatever an agent does with what it gets back."""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from agui_middleware import AGUIMiddleware, ClientVersion, Event
from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.filters.tools import allow_tools
from agui_middleware.history.readings import reading_of
from agui_middleware.history.stores import MemoryStore
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.posted import Posted
from agui_middleware.stream.sse import Decoder, Frame
from agui_middleware.testing import decode_events, encode_events
from tests.asgi.test_turn import Agent, turn
from tests.clients.client import RELEASES
from tests.history.stores import LaterFailingStore
from tests.robustness.exchange import Exchange
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


# A request whose thread the middleware does not know, and the app may: nothing tells any more what subagents have opened.

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": SECRET}}
RESTATED = [
    {"id": "n", "role": "assistant", "content": SECRET},
    {"id": "c", "role": "assistant", "toolCalls": [CALL]},
    {"id": "r", "role": "tool", "toolCallId": "c", "content": SECRET},
    {"id": "m", "role": "assistant", "content": "hi"},
]
DELEGATES = f"RS r; TS n @s; TC n {SECRET} @s; TE n @s; KS c @s; KA c {SECRET} @s; KE c @s; TS m; TC m hi; TE m; RF r"
POSTED = {"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "assistant", "content": "hi"}]}
AS_JSON = json.dumps(POSTED).encode()
RESTATES = encode_events(
    [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {**POSTED, "messages": RESTATED}},
        {"type": "MESSAGES_SNAPSHOT", "messages": RESTATED},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": SECRET},
        {"type": "TEXT_MESSAGE_START", "messageId": "m2", "role": "assistant"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m2"},
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "f", "parentMessageId": "p2"},
        {"type": "TOOL_CALL_END", "toolCallId": "c2"},
        {"type": "TOOL_CALL_RESULT", "messageId": "r2", "toolCallId": "c2", "content": "ok"},
        {**FINISHED, "outcome": {"type": "success", "pendingToolCallIds": ["c", "c2"]}},
    ]
)


async def second_turn(
    body: bytes, *, fields: Sequence[tuple[bytes, bytes]] = (), **route: Any
) -> tuple[bytes, list[str]]:
    """What a client gets of an agent that says all again that a subagent has said before; and the losses."""
    losses: list[str] = []
    options = {"visibility": "hidden", "history": "memory://", **route}
    app = AGUIMiddleware(Deaf(DELEGATES, RESTATES), on_loss=lambda loss: losses.append(loss.feature), **options)
    await turn([{"id": "u", "role": "user", "content": "go"}]).run(app)
    exchange = Exchange(headers=[(b"x-ag-ui-client-version", b"1.0.0"), *fields], body=[body])
    return (await exchange.run(app)).body, losses


class Deaf(Agent):
    """Does not look at what it is given."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body", False):
            pass
        await self.answer(self.streams.pop(0), send)


JSON = (b"content-type", b"application/json")


UNREAD: dict[str, tuple[bytes, list[tuple[bytes, bytes]]]] = {
    "no type": (AS_JSON, []),
    "another type": (AS_JSON, [(b"content-type", b"text/plain")]),
    "two types": (AS_JSON, [JSON, (b"content-type", b"text/json")]),
    "compressed": (AS_JSON, [JSON, (b"content-encoding", b"gzip")]),
    "a byte order mark": (b"\xef\xbb\xbf" + AS_JSON, [JSON]),
    "UTF-16": (json.dumps(POSTED).encode("utf-16"), [JSON]),
    "NaN, which Python reads": (AS_JSON[:-1] + b',"state":NaN}', [JSON]),
    "too large": (AS_JSON[:-1] + b',"state":"' + b"x" * 10_500_000 + b'"}', [JSON]),
    "snake_case, which pydantic reads": (AS_JSON.replace(b"threadId", b"thread_id"), [JSON]),
    "two threads, of which a server may read the first": (
        b'{"threadId":"t",' + AS_JSON[1:].replace(b'"t"', b'"t2"'),
        [JSON],
    ),
    "two threads, one with an escape": (b'{"thread\\u0049d":"t",' + AS_JSON[1:].replace(b'"t"', b'"t2"'), [JSON]),
    "two spellings, of which .NET reads the last": (AS_JSON[:-1] + b',"ThreadID":"t2"}', [JSON]),
    "a run without a string": (AS_JSON.replace(b'"r"', b"1"), [JSON]),
    "a thread alone": (b'{"threadId":"t"}', [JSON]),
    "nothing": (b"", [JSON]),
}


@pytest.mark.parametrize(("body", "fields"), UNREAD.values(), ids=UNREAD)
async def test_where_the_thread_is_not_known_nothing_is_restated(
    body: bytes, fields: Sequence[tuple[bytes, bytes]]
) -> None:
    got, losses = await second_turn(body, fields=fields)
    assert SECRET.encode() not in got
    started, *events = decode_events(got)
    assert started["input"]["messages"] == []
    # The parent's own leave.
    own = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "TOOL_CALL_START", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert [each["type"] for each in events] == [*own, "RUN_FINISHED"]
    assert events[-1]["outcome"]["pendingToolCallIds"] == ["c2"]
    assert losses == ["snapshots of messages"]


async def test_where_the_thread_is_known_what_is_the_parents_is_restated() -> None:
    got, losses = await second_turn(AS_JSON, fields=[JSON])
    assert SECRET.encode() not in got
    assert restated(got) == [RESTATED[-1], RESTATED[-1]]
    assert losses == []


async def test_without_a_store_only_the_response_tells_what_subagents_have_opened() -> None:
    got, losses = await second_turn(AS_JSON, fields=[JSON], history=False)
    assert restated(got) == RESTATED * 2
    assert losses == []


async def test_where_the_store_is_down_nothing_is_restated() -> None:
    got, losses = await second_turn(AS_JSON, fields=[JSON], history=LaterFailingStore())
    assert SECRET.encode() not in got
    assert restated(got) == []
    assert losses == ["snapshots of messages"]


async def test_where_the_record_cannot_be_read_nothing_is_restated() -> None:
    class OfAnotherVersion(MemoryStore):
        async def get(self, key: str, *, collection: str | None = None) -> dict[str, object] | None:
            value = await super().get(key, collection=collection)
            return None if value is None else {**value, "record": "BwA="}

    got, losses = await second_turn(AS_JSON, fields=[JSON], history=OfAnotherVersion(10**6))
    assert SECRET.encode() not in got
    assert restated(got) == []
    assert losses == ["snapshots of messages"]


async def test_where_the_owner_is_not_known_nothing_is_restated() -> None:
    answers = iter(["me"])  # raises StopIteration the second time
    got, _ = await second_turn(AS_JSON, fields=[JSON], owner=lambda scope: next(answers))
    assert SECRET.encode() not in got
    assert restated(got) == []
