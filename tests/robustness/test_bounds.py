"""What a stream may cost: work and output linear in it, memory within `max_event_bytes`. Its streams are in `hungry.py`."""

import pytest

from agui_middleware import Context, EventTooLarge, rewrite
from agui_middleware.downgrades import DOWNGRADES, downgrades_for
from agui_middleware.downgrades.sdk import SDK_ROWS
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.json_scan import MOST_BRACKETS
from agui_middleware.stream.sse import Decoder, Frame
from tests.robustness.hungry import HUNGRY, event, frames, growth, plans, rewritten
from tests.work import memory_of, work_of

PLANS = plans()
# Together they have all rows and all filters.
SOME = (
    *("0.0.27", "0.0.36", "0.0.40", "0.0.45", "0.0.57", "0.0.59", "1.0.0", "filters"),
    *("rows of all SDKs", "dropping rows of all SDKs"),
)
LIMIT = 200_000


def test_the_plans_of_these_tests_have_every_row() -> None:
    covered = {row.name for label in SOME for row in downgrades_for(PLANS[label].client)}
    covered |= {row for label in SOME if (reader := PLANS[label].reader) for row in reader.rows}
    assert covered >= {row.name for row in DOWNGRADES if row.filter is not None}
    assert covered >= {row.name for row in SDK_ROWS if row.filter is not None}


@pytest.mark.untraced
@pytest.mark.parametrize("label", SOME)
@pytest.mark.parametrize("name", HUNGRY)
def test_work_is_linear_in_the_stream(name: str, label: str) -> None:
    """Eight times as many events take eight times the steps. What does something again for each entity takes up to 64."""
    assert growth(PLANS[label], HUNGRY[name], 20, 160) < 1.15


@pytest.mark.untraced
@pytest.mark.parametrize("label", SOME)
@pytest.mark.parametrize("name", HUNGRY)
def test_output_is_linear_in_the_stream(name: str, label: str) -> None:
    """At most six times: a chunk becomes three events, and reasoning is restated up to four times what has come."""
    end = rewritten(PLANS[label], frames(HUNGRY[name], 160))
    assert end.written < 6 * end.taken
    assert end.failure is None or isinstance(end.failure, EventTooLarge)


@pytest.mark.untraced
@pytest.mark.parametrize("label", ["0.0.36", "0.0.40", "filters", "rows of all SDKs"])
@pytest.mark.parametrize("name", HUNGRY)
def test_memory_is_bounded_by_max_event_bytes(name: str, label: str) -> None:
    """What an entry counts is about what CPython takes for it: up to six times, with what passes at the moment."""
    chunks = frames(HUNGRY[name], 700)
    _, peak = memory_of(lambda: rewritten(PLANS[label], chunks, LIMIT))
    assert peak < 6 * LIMIT


@pytest.mark.parametrize("name", ["texts_behind_one", "calls_at_once", "long_ids", "continued", "reasoning_at_once"])
def test_what_is_remembered_ends_the_run_in_time(name: str) -> None:
    """Everything is counted, the ids of what has long left included, and the client reads why its run ended."""
    chunks = frames(HUNGRY[name], 700)
    out = rewritten(PLANS["0.0.40"], chunks, 20_000)
    assert isinstance(out.failure, EventTooLarge)
    assert out.taken < sum(map(len, chunks)) / 2


def test_an_id_that_a_chunk_leaves_out_is_repeated_only_where_it_is_short() -> None:
    """B3's kind: a hundred tiny chunks behind an id of a megabyte would become a hundred megabytes."""

    def chunks(id: str) -> bytes:
        events = [event("TEXT_MESSAGE_CHUNK", messageId=id, delta="a"), event("TEXT_MESSAGE_CHUNK", delta="b")]
        return b"".join(b"data: %b\n\n" % Event(**event).raw for event in events)

    for label in ("0.0.57", "inline", "filters"):
        assert rewritten(PLANS[label], [chunks("m" * 900)]).failure is None
        assert isinstance(rewritten(PLANS[label], [chunks("m" * 1100)]).failure, EventTooLarge)


@pytest.mark.untraced
@pytest.mark.parametrize("step", [1, 3, 100])
@pytest.mark.parametrize("kind", ["one line", "short lines", "two lines", "a field"])
def test_a_decoder_holds_at_most_twice_an_event(kind: str, step: int) -> None:
    """B2: in chunks of a byte, an object for each would be 90 times the event."""
    size = 240_000
    stream = {
        "one line": b'data: {"a":"%b"}\n\n' % (b"x" * size),
        "short lines": b"data:ab\n" * (size // 8) + b"\n",
        "two lines": b'data: {"a":"%b\ndata: %b"}\n\n' % (b"x" * (size // 2), b"x" * (size // 2)),
        "a field": b"id: %b\ndata: {}\n\n" % (b"x" * size),
    }[kind]
    decoder = Decoder(1 << 20)
    items: list[object] = []
    pieces = memoryview(stream)

    def feed() -> None:
        for start in range(0, len(stream), step):
            items.extend(decoder.feed(bytes(pieces[start : start + step])))

    _, peak = memory_of(feed)
    assert len(items) == 1
    assert peak < 2 * len(stream) + 100_000  # blocks that are not full yet


def test_a_large_chunk_of_short_lines_is_not_split_at_once() -> None:
    chunk = b"data:ab\n" * 50_000 + b"\n"
    _, peak = memory_of(lambda: Decoder(1 << 21).feed(chunk))
    assert peak < 2 * len(chunk)
    (frame,) = Decoder(1 << 21).feed(chunk)
    assert frame == Frame(b"\n".join([b"ab"] * 50_000))


SURROGATE = rb"\ud83d "


@pytest.mark.untraced
@pytest.mark.parametrize("label", ["0.0.57", "0.0.36", "hidden"])
def test_lone_surrogates_cost_at_most_five_times_what_other_text_does(label: str) -> None:
    """B6: msgspec refuses them, and what reads them instead is Python, for each message."""

    def snapshot(text: bytes) -> list[bytes]:
        messages = b",".join(b'{"id":"%d","role":"user","content":"%b"}' % (number, text) for number in range(2000))
        return [b'data: {"type":"MESSAGES_SNAPSHOT","messages":[%b]}\n\n' % messages]

    fine, odd = (work_of(lambda text=text: rewritten(PLANS[label], snapshot(text))) for text in (b"hello", SURROGATE))  # type: ignore[misc]
    assert odd < 5 * fine


@pytest.mark.parametrize("shape", ["deep", "wide", "in a message", "behind a surrogate"])
def test_json_that_is_nested_too_deep_has_few_brackets(shape: str) -> None:
    """B6: to balance four million brackets took seconds, and again for each level that a filter looks into."""
    many = MOST_BRACKETS
    value = b"[" * many + b"]" * many if shape != "wide" else b"[" * 3000 + b"[],".ljust(3) * many + b"[]" + b"]" * 3000
    odd = SURROGATE if shape == "behind a surrogate" else b""
    raw = b'{"type":"MESSAGES_SNAPSHOT","x":"%b","messages":[{"id":"a","value":%b}]}' % (odd, value)
    with pytest.raises(MalformedEvent, match=f"more than {MOST_BRACKETS} brackets"):
        Event.parse(raw)
    stream = b"data: %b\n\n" % raw
    assert rewrite(stream, client="0.0.36") == stream  # as it came: the client may read it
    assert b"AGUI_MALFORMED_EVENT" in rewrite(stream, visibility="hidden")
    few = raw.replace(value, b"[" * 5000 + b"]" * 5000)
    assert Event.parse(few).raw == few


NUMBERS = [b"9" * 5000, b"-" + b"9" * 5000, b"1e999", b"0." + b"3" * 5000, b"1" * 5000 + b".5e-7"]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[:4].decode()}, {len(number)} characters")
@pytest.mark.parametrize("label", ["0.0.27", "0.0.36", "0.0.45", "0.0.57", "hidden", "filters"])
def test_numbers_of_any_length_stay_bytes(label: str, number: bytes) -> None:
    """B7: Python reads integers of up to 4,300 digits, and JavaScript all."""
    raw = b'{"type":"STATE_SNAPSHOT","snapshot":{"n":%b,"s":"\\ud83d","l":[%b]},"timestamp":%b}' % (
        number,
        number,
        number,
    )
    for content in (
        raw,
        raw.replace(b"STATE_SNAPSHOT", b"TEXT_MESSAGE_CONTENT"),
        b'{"messages":[{"n":%b}],' % number + raw[1:],
    ):
        end = rewritten(PLANS[label], [b"data: %b\n\n" % content])
        assert end.failure is None
        assert end.written >= len(content)
    holder = JsonObject.of(b'{"n":%b,"in":{"n":[%b]}}' % (number, number))
    again = JsonObject({"n": holder["n"], "in": holder["in"]})
    assert again.raw.count(number) == 2 or float(number) not in (float("inf"), float("-inf"))


def test_reasoning_is_restated_as_often_as_the_stream_has_room_for(caplog: pytest.LogCaptureFixture) -> None:
    """B3: and again once enough has come, so that the last snapshots of a long stream have it."""
    chunks = frames(HUNGRY["forgotten_reasoning"], 50)
    shown = rewrite(b"".join(chunks), client="0.0.45")
    restated = [snapshot.count(b'"reasoning"') for snapshot in shown.split(b"\n\n") if b"MESSAGES_SNAPSHOT" in snapshot]
    assert restated[0] == 50
    assert 0 in restated
    assert restated.count(50) > 1
    assert sum("until a later snapshot" in record.getMessage() for record in caplog.records) == 1


def test_what_waits_keeps_only_its_bytes() -> None:
    """What was decoded of a snapshot takes many times as much, and is decoded again when it leaves."""
    event = Event.parse(b'{"type":"MESSAGES_SNAPSHOT","messages":[%b]}' % b",".join([b"{}"] * 20_000))
    context = Context(max_event_bytes=1 << 20)

    def look_and_hold() -> None:
        assert event.get_list("messages") is event.get_list("messages")
        context.hold(event)

    left, peak = memory_of(look_and_hold)
    assert left < peak / 20
    assert len(event.get_list("messages") or ()) == 20_000
    context.release(event)
    assert context.budget.held == 0
