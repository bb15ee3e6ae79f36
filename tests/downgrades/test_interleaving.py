"""One text or tool call at a time: everything else waits, in the order of what opens it."""

import pytest

from agui_middleware import ClientVersion, Context, Event
from agui_middleware.downgrades.held_snapshot import HeldSnapshot
from agui_middleware.downgrades.interleaving import without_interleaving
from agui_middleware.filters.composition import Composition
from agui_middleware.protocol.budget import Budget, Index, size_of
from agui_middleware.protocol.errors import EventTooLarge
from agui_middleware.stream.chain import Chain
from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

FAILED: Json = {"type": "RUN_ERROR", "message": "boom"}
STATE: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
CUSTOM: Json = {"type": "CUSTOM", "name": "x", "value": 1}
RAW: Json = {"type": "RAW", "event": 1}


def start(id: str) -> Json:
    return {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}


def content(id: str, delta: str) -> Json:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta}


def end(id: str) -> Json:
    return {"type": "TEXT_MESSAGE_END", "messageId": id}


def call(id: str) -> Json:
    return {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": "look"}


def args(id: str, delta: str) -> Json:
    return {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}


def called(id: str) -> Json:
    return {"type": "TOOL_CALL_END", "toolCallId": id}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def message(id: str, text: str) -> Json:
    return {"id": id, "role": "assistant", "content": text}


def holder(id: str, arguments: str) -> Json:
    called = {"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}}
    return {"id": id, "role": "assistant", "toolCalls": [called]}


def test_two_texts_at_once_leave_one_after_the_other(client: StartClient) -> None:
    events = [start("m"), start("n"), content("m", "a"), content("n", "b"), content("m", "c"), end("n"), end("m")]
    ended = Minimal(client, "interleaving").original("1.0.0", *events)
    assert ended.messages == [message("m", "ac"), message("n", "b")]
    minimal = Minimal(client, "interleaving")
    assert not minimal.original("0.0.36", *events).accepted
    assert minimal.reads("0.0.36", minimal.rewritten("0.0.36", *events)).messages == ended.messages
    assert made("0.0.36", *events) == [
        *(start("m"), content("m", "a"), content("m", "c"), end("m")),
        *(start("n"), content("n", "b"), end("n")),
    ]


def test_a_text_inside_a_call(client: StartClient) -> None:
    ended = Minimal(client, "interleaving").proves(call("c"), args("c", "{"), STATE, args("c", "}"), called("c"))
    assert (ended.messages, ended.state) == ([holder("c", "{}")], {"a": 1})


def test_what_is_open_goes_on_at_once() -> None:
    assert made("0.0.36", start("m"), start("n"), content("m", "a")) == [
        start("m"),
        content("m", "a"),
        end("m"),
        start("n"),
    ]


def test_raw_events_wait_for_nothing() -> None:
    assert made("0.0.36", start("m"), CUSTOM, RAW, end("m")) == [start("m"), RAW, end("m"), CUSTOM]


def test_everything_keeps_the_order_of_what_opens_it() -> None:
    waiting = [start("n"), STATE, call("c"), CUSTOM, start("o")]
    continued = [called("c"), end("o"), content("n", "a"), end("n")]
    assert made("0.0.36", start("m"), *waiting, *continued, end("m"), FINISHED) == [
        *(start("m"), end("m")),
        *(start("n"), content("n", "a"), end("n"), STATE),
        *(call("c"), called("c"), CUSTOM),
        *(start("o"), end("o"), FINISHED),
    ]


def test_what_waits_and_has_ended_may_go_on() -> None:
    """It has not left yet, so it stays one piece."""
    events = [
        start("m"),
        start("n"),
        content("n", "a"),
        end("n"),
        CUSTOM,
        start("n"),
        content("n", "b"),
        end("n"),
        end("m"),
    ]
    assert made("0.0.36", *events) == [
        *(start("m"), end("m")),
        *(start("n"), content("n", "a"), content("n", "b"), end("n"), CUSTOM),
    ]


def test_a_text_and_a_call_of_one_id_are_two() -> None:
    events = [start("x"), call("x"), content("x", "a"), args("x", "{}"), end("x"), called("x")]
    assert made("0.0.36", *events) == [start("x"), content("x", "a"), end("x"), call("x"), args("x", "{}"), called("x")]


def test_a_snapshot_that_waits_is_told_what_came_behind_it(client: StartClient) -> None:
    """As it was, it would wipe that out."""
    events = [
        *(start("m"), content("m", "a"), call("c"), args("c", "{")),
        snapshot(message("m", "a"), holder("c", "{")),
        *(content("m", "b"), args("c", "}"), end("m"), called("c")),
    ]
    minimal = Minimal(client, "interleaving")
    ended = minimal.reads("0.0.36", minimal.rewritten("0.0.36", *events))
    assert ended.messages == minimal.original("1.0.0", *events).messages == [message("m", "ab"), holder("c", "{}")]


def test_a_snapshot_that_leaves_a_text_out_is_not_told(client: StartClient) -> None:
    events = [start("m"), content("m", "a"), snapshot(message("n", "x")), content("m", "b"), end("m")]
    minimal = Minimal(client, "interleaving")
    ended = minimal.reads("0.0.36", minimal.rewritten("0.0.36", *events))
    assert ended.messages == minimal.original("1.0.0", *events).messages == [message("n", "x")]


def test_what_is_added_to_a_text_that_a_call_brings_back_is_lost(
    client: StartClient, caplog: pytest.LogCaptureFixture
) -> None:
    """It is with the text, in front of the snapshot: behind it, the text would have to be opened again."""
    events = [start("m"), snapshot(), {**call("c"), "parentMessageId": "m"}, content("m", "a"), end("m"), called("c")]
    minimal = Minimal(client, "interleaving")
    [ended] = minimal.reads("0.0.36", minimal.rewritten("0.0.36", *events)).messages
    assert minimal.original("1.0.0", *events).messages == [{**ended, "content": "a"}]
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.36") == ["a text that goes on behind a snapshot"]


@pytest.mark.parametrize(
    "events",
    [
        [start("m"), snapshot(), call("c"), content("m", "a"), end("m"), called("c")],
        [start("m"), snapshot(message("m", "")), {**call("c"), "parentMessageId": "m"}, end("m"), called("c")],
        [start("m"), {**call("c"), "parentMessageId": "m"}, end("m"), called("c")],
        [start("m"), snapshot(), {**call("c"), "parentMessageId": ["m"]}, end("m"), called("c")],
    ],
)
def test_what_is_added_to_others_is_not(caplog: pytest.LogCaptureFixture, events: list[Json]) -> None:
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.36") == []


@pytest.mark.parametrize("restated", [[message("n", "a")], []])
def test_what_starts_behind_a_snapshot_leaves_behind_it(restated: list[Json]) -> None:
    shown = snapshot(*restated)
    first, second = [start("n"), content("n", "a"), end("n")], [start("n"), content("n", "b"), end("n")]
    events = made("0.0.36", start("m"), *first, shown, *second, end("m"))
    assert events == [start("m"), end("m"), *first, shown, *second]


def test_a_failed_run_ends_what_is_open_before_its_error(client: StartClient) -> None:
    events = [STARTED, start("m"), call("c"), args("c", "{"), STATE, start("n"), FAILED]
    expected = [
        STARTED,
        start("m"),
        end("m"),
        call("c"),
        args("c", "{"),
        called("c"),
        STATE,
        start("n"),
        end("n"),
        FAILED,
    ]
    assert made("0.0.36", *events) == expected
    ended = Minimal(client, "interleaving").proves(*events, run=False)
    assert (ended.messages, ended.state) == ([message("m", ""), holder("c", "{"), message("n", "")], {"a": 1})


def test_a_stream_that_breaks_off_leaves_nothing_waiting(client: StartClient) -> None:
    events = [STARTED, start("m"), STATE, start("n"), content("n", "a")]
    assert made("0.0.36", *events) == [STARTED, start("m"), end("m"), STATE, start("n"), content("n", "a")]
    assert Minimal(client, "interleaving").proves(*events, run=False).messages[1] == message("n", "a")


def test_nothing_is_closed_that_nothing_waits_for() -> None:
    assert made("0.0.36", STARTED, start("m")) == [STARTED, start("m")]


def test_a_run_that_is_finished_with_something_open_is_left_to_the_client(client: StartClient) -> None:
    """No release reads it, so nothing is closed."""
    events = [STARTED, start("m"), STATE, start("n"), CUSTOM, FINISHED]
    assert made("0.0.36", *events) == events
    minimal = Minimal(client, "interleaving")
    assert not minimal.original("1.0.0", *events, run=False).accepted
    assert not minimal.original("0.0.36", *events, run=False).accepted


def test_a_malformed_id_is_left_to_the_client() -> None:
    ids: list[object] = [None, 1, [], {}]
    malformed = [{**start("m"), "messageId": id} for id in ids]
    assert made("0.0.36", *malformed) == malformed
    assert made("0.0.36", start("m"), *malformed, end("m")) == [start("m"), end("m"), *malformed]


def test_a_second_start_leaves_where_the_first_is_open(client: StartClient) -> None:
    """So that the client rejects it, as every release does."""
    events = [STARTED, start("m"), start("n"), start("n"), end("m"), end("n"), end("n"), FINISHED]
    shown = made("0.0.36", *events)
    assert shown[1:5] == [start("m"), end("m"), start("n"), start("n")]
    minimal = Minimal(client, "interleaving")
    assert not minimal.original("1.0.0", *events, run=False).accepted
    assert not minimal.original("0.0.36", *shown, run=False).accepted
    assert made("0.0.36", start("m"), start("n"), start("m"))[:2] == [start("m"), start("m")]


def test_content_of_nothing_waits_as_it_is() -> None:
    assert made("0.0.36", start("m"), start("n"), content("o", "a"), end("o"), end("m"))[:2] == [start("m"), end("m")]


async def held(limit: int, *events: Json) -> tuple[list[Json], Exception | None]:
    """What the filter alone makes of events under a bound of its own, and why it failed, if it did."""
    out: list[Json] = []

    def emit(event: Event) -> None:
        out.append(dict(event))

    context = Context(ClientVersion.parse("0.0.36"), max_event_bytes=limit)
    chain = Chain(Composition([without_interleaving]), context, emit)
    for event in events:
        chain.push(Event(**event))
    chain.close()
    return out, chain.failure


def size(*events: Json) -> int:
    return sum(len(Event(**event).raw) + 100 for event in events)


ENTITY = size_of(("messageId", "n"))


async def test_no_more_waits_than_allowed() -> None:
    """The client is not left with an open text, inside of which it would not read the error."""
    waiting = [start("n"), content("n", "a"), STATE]
    out, failure = await held(size(*waiting) + ENTITY - 1, STARTED, start("m"), *waiting, CUSTOM)
    assert isinstance(failure, EventTooLarge)
    assert out[:3] == [STARTED, start("m"), end("m")]
    assert [(event["type"], event["code"]) for event in out[3:]] == [("RUN_ERROR", "AGUI_EVENT_TOO_LARGE")]


async def test_what_has_left_makes_room() -> None:
    waiting = [start("n"), content("n", "a"), end("n"), STATE, snapshot(message("m", ""))]
    events = [start("m"), *waiting, content("m", "b"), end("m")]
    out, failure = await held(size(*waiting, content("m", "b")) + 2 * ENTITY, *events * 3)
    assert failure is None
    assert len(out) == len(events) * 3


async def test_what_a_waiting_snapshot_is_told_counts() -> None:
    shown = snapshot(message("m", ""))
    limit = size(shown, content("m", "b"))
    out, failure = await held(limit, start("m"), shown, content("m", "b"), content("m", "b"))
    assert isinstance(failure, EventTooLarge)
    assert [event["type"] for event in out][-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]


async def test_an_ended_text_that_goes_on_frees_its_end() -> None:
    text = [start("n"), end("n")]
    _, failure = await held(size(*text, start("n")) + ENTITY, *[start("m"), *text * 3, end("m")] * 5)
    assert failure is None


def test_a_waiting_snapshot_is_asked_for_its_messages_once() -> None:
    """Whatever stands among them."""
    budget = Budget()
    messages = [{"role": "user"}, "no message", message("n", ""), message("o", "")]
    shown = HeldSnapshot(Event(type="MESSAGES_SNAPSHOT", messages=messages), 0, Index(budget))
    assert [shown.restates(id) for id in "nom"] == [True, True, False]
    assert budget.held == size_of("n") + size_of("o")
    assert not HeldSnapshot(Event(type="MESSAGES_SNAPSHOT", messages=1), 0, Index(budget)).restates("n")
