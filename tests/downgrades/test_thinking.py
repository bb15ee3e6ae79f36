"""THINKING_* from old agents; REASONING_* for old clients; what neither of them shows."""

from collections.abc import AsyncIterator

import pytest

from agui_middleware.downgrades.thinking_events import without_thinking_events
from agui_middleware.filters import Context
from agui_middleware.protocol.event import Event
from tests.clients.client import UUID4
from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

THINKING_START: Json = {"type": "THINKING_START"}
THINKING_END: Json = {"type": "THINKING_END"}
STATE: Json = {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}


def thought(*deltas: str) -> list[Json]:
    contents = [{"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": delta} for delta in deltas]
    return [{"type": "THINKING_TEXT_MESSAGE_START"}, *contents, {"type": "THINKING_TEXT_MESSAGE_END"}]


def start(id: str) -> Json:
    return {"type": "REASONING_START", "messageId": id}


def end(id: str) -> Json:
    return {"type": "REASONING_END", "messageId": id}


def message_start(id: str) -> Json:
    return {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"}


def delta(id: str, text: str) -> Json:
    return {"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text}


def message_end(id: str) -> Json:
    return {"type": "REASONING_MESSAGE_END", "messageId": id}


def reasoned(id: str, *deltas: str) -> list[Json]:
    return [message_start(id), *(delta(id, text) for text in deltas), message_end(id)]


@pytest.mark.parametrize(
    "events",
    [
        [{**THINKING_START, "title": "hm"}, *thought("a", "b"), *thought("c"), THINKING_END],
        [{**THINKING_START, "title": None}, *thought("a"), THINKING_END, THINKING_START, *thought("b"), THINKING_END],
        [*thought("a")],
    ],
)
def test_thinking_becomes_reasoning(client: StartClient, events: list[Json]) -> None:
    row = Minimal(client, "thinking")
    newest = row.proves(STATE, *events, alike=False)
    assert newest.ends_like(row.original("1.0.0", STATE, *events))
    assert all(UUID4.fullmatch(message["id"]) for message in newest.messages)


@pytest.mark.parametrize("release", ["0.0.45", "0.0.46", "0.0.49", "0.0.50", "0.0.59"])
def test_a_snapshot_that_leaves_thinking_out_does_not_delete_it(client: StartClient, release: str) -> None:
    """It is restated as reasoning is: `thinking` comes before `streamed-messages`."""
    events = [*thought("x"), {"type": "MESSAGES_SNAPSHOT", "messages": []}]
    row = Minimal(client, "thinking")
    end = row.reads(release, row.rewritten(release, *events))
    assert [message["content"] for message in end.messages] == ["x"]
    assert end.ends_like(row.original("1.0.0", *events))


@pytest.mark.parametrize("release", ["0.0.37", "0.0.45", "0.0.58"])
def test_thinking_that_a_failed_run_leaves_open_is_closed_before_the_next(client: StartClient, release: str) -> None:
    failed = [STARTED, STATE, THINKING_START, *thought("a")[:-1], {"type": "RUN_ERROR", "message": "no"}]
    shown = made(release, *failed, STARTED, *thought("b"), FINISHED)
    assert Minimal(client, "thinking").original(release, *shown, run=False).accepted
    closed = [event["type"] for event in shown if event["type"].endswith("_END")]
    assert len(closed) == len([event for event in shown if event["type"].endswith("_START")])


def test_thinking_that_continues_nothing_is_left_to_the_client() -> None:
    events = [STARTED, *thought("a")[1:], THINKING_END, FINISHED]
    assert made("0.0.59", *events) == events


@pytest.mark.parametrize("release", ["0.0.37", "0.0.44"])
def test_thinking_of_old_agents_stays_thinking_for_old_clients(client: StartClient, release: str) -> None:
    events = [STARTED, {**THINKING_START, "title": "hm"}, *thought("a", "b"), THINKING_END, FINISHED]
    assert made(release, *events) == events
    assert made(release, STARTED, *thought("a"), FINISHED) == [
        STARTED,
        THINKING_START,
        *thought("a"),
        THINKING_END,
        FINISHED,
    ]


def test_reasoning_becomes_thinking(client: StartClient) -> None:
    events = [start("s"), *reasoned("m", "a", "b"), end("s")]
    newest = Minimal(client, "reasoning").proves(STATE, *events)
    assert newest.messages == []
    assert made("0.0.44", *events) == [THINKING_START, *thought("a", "b"), THINKING_END]


def test_a_message_without_a_span_gets_one() -> None:
    assert made("0.0.44", *reasoned("m", "a")) == [THINKING_START, *thought("a"), THINKING_END]


def test_overlapping_spans_become_one(client: StartClient) -> None:
    events = [start("s"), start("t"), *reasoned("m", "a"), end("s"), *reasoned("m", "b"), end("t")]
    Minimal(client, "reasoning").proves(STATE, *events)
    assert made("0.0.44", *events) == [THINKING_START, *thought("a"), *thought("b"), THINKING_END]


def test_a_second_message_waits_for_the_first_to_end(client: StartClient) -> None:
    first, second = reasoned("m", "a", "b"), reasoned("n", "c", "d")
    events = [event for pair in zip(first, second, strict=True) for event in pair]
    Minimal(client, "reasoning").proves(STATE, *events)
    assert made("0.0.44", *events) == [THINKING_START, *thought("a", "b"), *thought("c", "d"), THINKING_END]


def test_what_waited_goes_on_streaming() -> None:
    events = [
        message_start("m"),
        message_start("n"),
        delta("n", "a"),
        message_end("m"),
        delta("n", "b"),
        message_end("n"),
    ]
    shown = made("0.0.44", *events[:-2])
    assert shown == [THINKING_START, *thought(), *thought("a")[:-1]]
    assert made("0.0.44", *events) == [THINKING_START, *thought(), *thought("a", "b"), THINKING_END]


def test_a_message_that_is_reopened_while_it_waits_comes_twice() -> None:
    events = [message_start("m"), *reasoned("n", "a"), *reasoned("n", "b"), message_end("m")]
    assert made("0.0.44", *events) == [THINKING_START, *thought(), *thought("a"), *thought("b"), THINKING_END]


@pytest.mark.parametrize("terminal", [{"type": "RUN_ERROR", "message": "no"}, FINISHED])
def test_what_waits_leaves_before_the_end_of_the_run(client: StartClient, terminal: Json) -> None:
    events = [
        STARTED,
        STATE,
        start("s"),
        message_start("m"),
        message_start("n"),
        delta("n", "a"),
        message_start("o"),
        terminal,
    ]
    shown = made("0.0.44", *events)
    assert shown == [STARTED, STATE, THINKING_START, *thought(), *thought("a"), *thought(), THINKING_END, terminal]
    assert Minimal(client, "reasoning").original("0.0.44", *shown, run=False).accepted


def test_too_much_that_waits_ends_the_run(client: StartClient) -> None:
    half = "x" * (6 * 1024 * 1024)
    events = [STARTED, STATE, message_start("m"), message_start("n"), delta("n", half), delta("n", half), FINISHED]
    shown = made("0.0.44", *events)
    assert shown[-1]["code"] == "AGUI_EVENT_TOO_LARGE"
    assert Minimal(client, "reasoning").original("0.0.44", *shown, run=False).accepted


def test_reasoning_that_continues_nothing_is_dropped() -> None:
    unnamed: Json = {"type": "REASONING_START", "messageId": []}
    events = [STARTED, delta("m", "a"), message_end("m"), end("s"), unnamed, FINISHED]
    assert made("0.0.44", *events) == [STARTED, FINISHED]


@pytest.mark.parametrize(
    ("release", "reported"), [("0.0.45", []), ("0.0.44", ["reasoning"]), ("0.0.36", ["reasoning"])]
)
def test_reasoning_that_is_not_kept_is_reported(
    caplog: pytest.LogCaptureFixture, release: str, reported: list[str]
) -> None:
    assert losses(caplog, [STARTED, STATE, *reasoned("m", "a"), FINISHED], release) == reported


@pytest.mark.parametrize("events", [thought("a"), reasoned("m", "a"), [start("s"), end("s")]])
def test_releases_that_show_no_thinking_get_none(events: list[Json]) -> None:
    assert made("0.0.36", STARTED, STATE, *events, FINISHED) == [STARTED, STATE, FINISHED]


def test_thinking_is_not_known_before_0_0_37(client: StartClient) -> None:
    assert Minimal(client, "thinking-events").proves(STATE, THINKING_START, *thought("a"), THINKING_END).messages == []


async def test_a_filter_that_drops_all_it_is_shown_passes_the_rest_on() -> None:
    async def source() -> AsyncIterator[Event]:
        yield Event(**THINKING_START)
        yield Event(**STATE)

    assert [event.type async for event in without_thinking_events(source(), Context())] == ["STATE_SNAPSHOT"]
