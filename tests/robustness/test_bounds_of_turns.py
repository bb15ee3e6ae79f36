"""What a conversation may cost on its way in, and between two turns. Its bodies are in `hungry_turns.py`."""

import json
from typing import Any

import pytest
from msgspec import Raw

from agui_middleware import AGUIMiddleware, Event
from agui_middleware.downgrades import pieces
from agui_middleware.downgrades.interrupts import interrupts_as_custom
from agui_middleware.history.capture import Capture
from agui_middleware.history.stores import MemoryStore
from agui_middleware.protocol import posted as posting
from agui_middleware.protocol.conversation import Conversation
from agui_middleware.protocol.conversation_entries import Entry
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.posted import MessageHead, Posted
from agui_middleware.testing import encode_events, run_filter
from tests.asgi.test_turn import AGAIN, SAID, USER, Agent, turn
from tests.robustness.hungry import HUNGRY, frames, plans
from tests.robustness.hungry_turns import (
    BODIES,
    EVENT_LIMIT,
    Body,
    a_call,
    captured,
    examined,
    growth_of_body,
    growth_of_examination,
    growth_of_turn,
    memory_of_body,
    readers,
    said,
    taken_in,
    tiny_messages,
    whole_body,
)
from tests.work import memory_of, steps_of

PLANS = plans()
READERS = readers()
LIMIT = 200_000
# Snapshots that leave many messages in place: each is looked at again, which counts.
LEAVE_IN_PLACE = ("forgotten_reasoning", "activities_of_a_snapshot", "mixed_snapshots")


def posted(size: int) -> Posted:
    read = Posted.read(json.dumps(tiny_messages(size)).encode())
    assert read is not None
    return read


@pytest.mark.untraced
@pytest.mark.parametrize("label", ["current", "0.0.36", "0.0.57", "rows of all SDKs"])
@pytest.mark.parametrize("name", BODIES)
def test_work_is_linear_in_a_body(name: str, label: str) -> None:
    """Eight times as many messages take eight times the steps: upgraded, without subagents, with answers."""
    assert growth_of_body(BODIES[name], READERS[label], 20, 160) < 1.15


@pytest.mark.parametrize("make", [BODIES["one_id"], BODIES["one_call_id"]])
def test_what_comes_in_many_pieces_is_written_once(make: Body, monkeypatch: pytest.MonkeyPatch) -> None:
    """To write it again for each piece would write the square of their number."""
    written: list[JsonObject] = []

    def as_message(message: JsonObject) -> tuple[MessageHead, Raw]:
        written.append(message)
        return posting.as_message(message)

    monkeypatch.setattr(pieces, "as_message", as_message)
    taken_in(json.dumps(make(1000)).encode(), READERS["0.0.43"], [])
    assert len(written) == 1


def test_arguments_in_many_pieces_are_looked_at_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece is complete by itself, so that each could be the first of another call."""
    looked_at: list[str] = []
    is_json = pieces._is_json

    def noted(text: str) -> Raw:
        looked_at.append(text)
        return is_json(text)

    monkeypatch.setattr(pieces, "_is_json", noted)
    calls = [a_call("c", '{"a":"' + "x" * 10_000), *[a_call("c", "1")] * 2000]
    body = json.dumps(whole_body([said(f"m{number}", call) for number, call in enumerate(calls)])).encode()
    taken_in(body, READERS["0.0.57"], [])
    assert sum(map(len, looked_at)) < 16 * len(body)
    few = json.dumps(whole_body([said("m", a_call("c", "{}")), said("n", a_call("c", "{}"), content="x")])).encode()
    assert json.loads(taken_in(few, READERS["0.0.57"], []))["messages"][1].get("toolCalls") is None


def test_calls_of_one_message_are_looked_up_once() -> None:
    body = Posted.read(json.dumps(BODIES["calls_of_one_message"](1000)).encode())
    assert body is not None
    conversation = Conversation(body.messages)
    assert conversation.call("c0") is not None
    assert steps_of(lambda: conversation.call("c999")) < 20


def test_metadata_grows_in_place() -> None:
    """A copy at each token would take the square of their number."""
    conversation = Conversation()
    conversation.take(START.replace(metadata={"a": 1}))
    entry = conversation.find("m")
    assert entry is not None
    before = entry.get("metadata")
    conversation.take(token("x").replace(metadata={"b": 2}))
    assert entry.get("metadata") is before
    assert json.loads(bytes(conversation.messages()[0][1]))["metadata"] == {"a": 1, "b": 2}


@pytest.mark.untraced
@pytest.mark.parametrize("label", ["current", "0.0.36", "rows of all SDKs"])
@pytest.mark.parametrize("name", ["tiny_messages", "one_id", "nulls", "results_without_calls"])
def test_memory_is_bounded_in_multiples_of_a_body(name: str, label: str) -> None:
    assert memory_of_body(BODIES[name], READERS[label], 2000) < 40


@pytest.mark.untraced
@pytest.mark.parametrize("label", ["0.0.36", "hidden"])
@pytest.mark.parametrize("name", HUNGRY)
def test_work_is_linear_in_two_turns(name: str, label: str) -> None:
    """What a response leaves is kept, merged and put back; snapshots that leave messages in place end the keeping."""
    limit = 20_000 if name in LEAVE_IN_PLACE else EVENT_LIMIT
    assert growth_of_turn(PLANS[label], HUNGRY[name], 20, 160, limit) < 1.15


@pytest.mark.parametrize("name", LEAVE_IN_PLACE)
def test_messages_that_snapshots_leave_in_place_count(name: str) -> None:
    small, large = capture(200_000), capture(20_000_000)
    for chunk in frames(HUNGRY[name], 160):
        small.passed(Event.parse(chunk[6:-2]))
        large.passed(Event.parse(chunk[6:-2]))
    assert small.has_given_up
    assert not large.has_given_up


@pytest.mark.untraced
@pytest.mark.parametrize("label", ["0.0.36", "hidden"])
@pytest.mark.parametrize("name", HUNGRY)
def test_memory_of_what_is_to_be_kept_is_bounded(name: str, label: str) -> None:
    """Up to thirty times what is counted: filters hold as much, and the record that is made at the end reads all of it."""
    chunks = frames(HUNGRY[name], 700)
    _, peak = memory_of(lambda: captured(PLANS[label], chunks, posted(1), LIMIT))
    assert peak < 30 * LIMIT


def capture(limit: int) -> Capture:
    return Capture(posted(1), posted(1), None, None, limit)


def token(text: str, id: str = "m") -> Event:
    return Event("TEXT_MESSAGE_CONTENT", messageId=id, delta=text)


START = Event("TEXT_MESSAGE_START", messageId="m", role="assistant")
RESULT = Event("TOOL_CALL_RESULT", toolCallId="c", content="x" * 1000)


@pytest.mark.parametrize(
    "events",
    {
        "one text of a hidden subagent": [START, *[token("x" * 100)] * 1000],
        "results": [RESULT.replace(messageId=f"r{number}") for number in range(100)],
        "empty texts": [START.replace(messageId=f"m{number}") for number in range(1000)],
        "metadata": [START, *(token("").replace(metadata={f"n{n}": "x" * 100}) for n in range(1000))],
        "encrypted values": [
            START,
            *[Event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="x" * 1000)] * 100,
        ],
        "echoes": [
            Event("RUN_STARTED", input={"messages": [{"id": f"u{n}", "role": "user", "content": "x" * 1000}]})
            for n in range(100)
        ],
        "chunks": [
            Event("TEXT_MESSAGE_CHUNK", messageId=f"m{n}", delta="", subagentRunId=f"s{n}" * 20) for n in range(1000)
        ],
    }.items(),
    ids=lambda case: case[0],
)
def test_whatever_a_capture_holds_counts(events: tuple[str, list[Event]]) -> None:
    """It is let go in the middle of the stream, and what comes then changes nothing."""
    small, large = capture(20_000), capture(10_000_000)
    for event in events[1]:
        small.agent_sent(event)
        large.agent_sent(event)
    assert large.finish() is not None
    assert small.has_given_up
    assert not small._canonical.messages()
    small.client_got(token("x"))
    small.passed(token("x"))
    assert small.finish() is None


def test_what_waits_for_the_client_counts() -> None:
    small = capture(20_000)
    small.passed(START)
    for _ in range(1000):
        small.agent_sent(token("x"))
    assert small.finish() is None
    for end in ("client_got", "finish"):
        exact = capture(1500)
        exact.passed(START)
        exact.agent_sent(token("x" * 50))
        if end == "client_got":
            exact.client_got(token("y" * 2000))
        else:
            exact.agent_sent(token("x" * 400))
        assert exact.finish() is None


def test_what_a_snapshot_leaves_in_place_keeps_only_its_own_bytes() -> None:
    """A slice of the event that brought it would keep all of that: a MiB for each of a thousand snapshots."""
    kept = capture(EVENT_LIMIT)
    claims: Any = {"@ag-ui/client": {"authoritativeActivityTypes": []}}

    def snapshots() -> None:
        for number in range(100):
            plan = {"id": f"a{number}", "role": "activity", "activityType": "P", "content": {}}
            said = {"id": "m", "role": "assistant", "content": "x" * 50_000}
            kept.passed(Event.parse(Event("MESSAGES_SNAPSHOT", messages=[plan, said], metadata=claims).raw))

    left, _ = memory_of(snapshots)
    assert left < 1_000_000
    assert len(kept._canonical.messages()) == 101


def test_a_result_keeps_only_its_own_bytes() -> None:
    kept = capture(EVENT_LIMIT)

    def results() -> None:
        for number in range(100):
            result = RESULT.replace(messageId=f"r{number}", content="x", rawEvent="x" * 50_000)
            kept.passed(Event.parse(result.raw))

    left, _ = memory_of(results)
    assert left < 1_000_000


@pytest.mark.parametrize("metadata", [False, True], ids=["without metadata", "with metadata"])
def test_texts_that_differ_are_compared_once(metadata: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """To join both at each token would look at the square of their length."""
    joined: list[Entry] = []
    so_far = Entry.so_far

    def noted(entry: Entry) -> str:
        joined.append(entry)
        return so_far(entry)

    monkeypatch.setattr(Entry, "so_far", noted)
    differing = capture(EVENT_LIMIT)
    differing.agent_sent(START)
    differing.agent_sent(token("other"))
    differing.client_got(START)
    for _ in range(100):
        differing.passed(token("x").replace(metadata={"a": 1}) if metadata else token("x"))
    assert len(joined) < 10


@pytest.mark.untraced
@pytest.mark.parametrize("name", HUNGRY)
def test_the_look_for_faults_is_linear(name: str) -> None:
    assert growth_of_examination(HUNGRY[name], 20, 160) < 1.15


def test_the_look_for_faults_takes_no_more_than_max_event_bytes() -> None:
    chunks = frames(HUNGRY["chunks_inside"], 700)
    _, peak = memory_of(lambda: examined(chunks, 20_000))
    assert peak < LIMIT
    few = steps_of(lambda: examined(chunks, 20_000))
    assert few * 2 < steps_of(lambda: examined(chunks))


async def test_many_long_names_of_interrupts_are_not_repeated_for_each() -> None:
    """Each of 17 announcements would name 16 others of 10,000 characters."""
    asked = [{"id": f"{number}" + "i" * 10_000, "reason": "x"} for number in range(17)]
    ended = Event("RUN_FINISHED", threadId="t", runId="r", outcome={"type": "interrupt", "interrupts": asked})
    announced = await run_filter(interrupts_as_custom, [ended])
    assert len(announced) == 18
    assert len(encode_events(announced)) < 3 * len(ended.raw)


async def test_a_store_in_memory_holds_what_it_says_at_most() -> None:
    """Keys and objects included."""
    store = MemoryStore(LIMIT)
    values = [{"record": "x" * 500, "owned": [["message", f"m{number}"]]} for number in range(1000)]
    keys = [f"{number:048}" for number in range(1000)]
    await store.put("first", values[0])

    for key, value in zip(keys, values, strict=True):
        await store.put(key, value)
    assert store._size <= LIMIT
    assert len(store._values) > 50
    assert await store.get("first") is None


async def test_a_response_with_many_runs_is_kept_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time costs as much as the conversation. The end of the response keeps all of it."""
    written = []
    put = MemoryStore.put

    async def noted(store: MemoryStore, key: str, value: Any, **options: Any) -> None:
        written.append(key)
        await put(store, key, value, **options)

    monkeypatch.setattr(MemoryStore, "put", noted)
    runs = (f"RS r{n}; SUB+ s; TS n{n} @s; TC n{n} psst @s; TE n{n} @s; SUB- s; RF r{n}" for n in range(100))
    first = "; ".join([*runs, "RS r; TS m; TC m hi; TE m; RF r"])
    agent = Agent(first, "RS r; RF r")
    app = AGUIMiddleware(agent, visibility="hidden", history="memory://")
    await turn([USER]).run(app)
    assert 1 < len(written) < 20
    await turn([USER, SAID, AGAIN]).run(app)
    assert [message["id"] for message in agent.given[-1]["messages"]] == [
        "u",
        *(f"n{number}" for number in range(100)),
        "m",
        "u2",
    ]


async def test_two_announcements_of_one_value_are_of_two_interrupts() -> None:
    """The first that is left is looked for from where the last search has ended."""
    value, metadata = {"n": 0}, {"langgraph": {"raw": {"n": 0}}}
    asked = [{"id": f"i{number}", "reason": "x", "metadata": metadata} for number in range(3)]
    events = [
        *[Event("CUSTOM", name="on_interrupt", value=value)] * 2,
        Event("RUN_FINISHED", threadId="t", runId="r", outcome={"type": "interrupt", "interrupts": asked}),
    ]
    announced = [event for event in await run_filter(interrupts_as_custom, events) if event["type"] == "CUSTOM"]
    assert len(announced) == 3
    assert "i2" in announced[-1]["value"]


def test_of_two_calls_of_one_id_the_first_counts() -> None:
    messages = [said("m", a_call("c", "1"), a_call("c", "2"), a_call("d", "3"))]
    body = Posted.read(json.dumps(whole_body(messages)).encode())
    assert body is not None
    conversation = Conversation(body.messages)
    found = [conversation.call(id) for id in ("c", "d", "c")]
    assert [call and call.so_far() for call in found] == ["1", "3", "1"]


def test_an_activity_gets_no_metadata() -> None:
    conversation = Conversation()
    conversation.take(Event("ACTIVITY_SNAPSHOT", messageId="a", activityType="P", content={}))
    conversation.take(token("x", "a").replace(metadata={"a": 1}))
    assert "metadata" not in json.loads(bytes(conversation.messages()[0][1]))
