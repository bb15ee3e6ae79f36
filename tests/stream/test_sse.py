import json
from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agui_middleware.stream.sse import (
    Comment,
    Decoder,
    Fields,
    Frame,
    Item,
    TooLarge,
    UnknownField,
    encode,
    encode_comment,
)
from tests.strategies import cuts, runs, streams
from tests.work import memory_of, work_of

BOM = b"\xef\xbb\xbf"
LIMIT = 1 << 20


class Case(NamedTuple):
    """A stream, and what it holds; `rest` comes with its end, for want of a blank line."""

    stream: bytes
    items: list[Item]
    rest: tuple[Item, ...] = ()


CASES: dict[str, Case] = {
    "nothing": Case(b"", []),
    "blank lines only": Case(b"\n\n\r\n\r\n\r\r", []),
    "lf": Case(b"data: a\n\ndata: b\n\n", [Frame(b"a"), Frame(b"b")]),
    "crlf": Case(b"data: a\r\n\r\ndata: b\r\n\r\n", [Frame(b"a"), Frame(b"b")]),
    "cr": Case(b"data: a\r\rdata: b\r\r", [Frame(b"a"), Frame(b"b")]),
    "mixed line ends": Case(b"data: a\n\rdata: b\r\n\ndata: c\r\r\n", [Frame(b"a"), Frame(b"b"), Frame(b"c")]),
    "one crlf boundary in a stream of lf": Case(
        b"data: a\n\ndata: b\r\n\r\ndata: c\n\n", [Frame(b"a"), Frame(b"b"), Frame(b"c")]
    ),
    "cr that ends a stream of lf": Case(b"data: a\n\ndata: b\n\r", [Frame(b"a"), Frame(b"b")]),
    "a crlf is one line end between data lines": Case(b'data: {"a":\r\ndata: 1}\r\n\r\n', [Frame(b'{"a":\n1}')]),
    "lf behind crlf is a blank line": Case(b"data: a\r\n\n", [Frame(b"a")]),
    "more blank lines than needed": Case(b"\n\ndata: a\n\n\n\ndata: b\n\n\n", [Frame(b"a"), Frame(b"b")]),
    "byte order mark": Case(BOM + b"data: a\n\n", [Frame(b"a")]),
    "byte order mark before a comment": Case(BOM + b": hi\n\n", [Comment(b" hi")]),
    "byte order mark alone": Case(BOM, []),
    "only one byte order mark is skipped": Case(BOM + BOM + b"data: a\n\ndata: b\n\n", [Frame(b"b")]),
    "byte order mark later on": Case(b"data: a\n\n" + BOM + b"data: b\n\ndata: c\n\n", [Frame(b"a"), Frame(b"c")]),
    "byte order mark inside a payload": Case(b"data: " + BOM + b"a\n\n", [Frame(BOM + b"a")]),
    "two bytes of a byte order mark": Case(b"\xef\xbbdata: a\n\ndata: b\n\n", [Frame(b"b")]),
    "two bytes of a byte order mark at the end": Case(b"\xef\xbb", []),
    "no space": Case(b"data:a\n\n", [Frame(b"a")]),
    "one space is skipped": Case(b"data:  a \n\n", [Frame(b" a ")]),
    "empty data": Case(b"data:\n\n", [Frame(b"")]),
    "empty data with a space": Case(b"data: \n\n", [Frame(b"")]),
    "data without a colon": Case(b"data\n\n", [Frame(b"")]),
    "several data lines": Case(b"data: a\ndata: b\ndata: c\n\n", [Frame(b"a\nb\nc")]),
    "trailing empty data line": Case(b"data: a\ndata:\n\n", [Frame(b"a\n")]),
    "two empty data lines": Case(b"data\ndata:\n\n", [Frame(b"\n")]),
    "comment": Case(b": ping\n\n", [Comment(b" ping")]),
    "empty comment": Case(b":\n\n", [Comment(b"")]),
    "comment without a blank line": Case(b": ping\ndata: a\n\n", [Comment(b" ping"), Frame(b"a")]),
    "comment between data lines": Case(b"data: a\n: ping\ndata: b\n\n", [Comment(b" ping"), Frame(b"a\nb")]),
    "comment with a colon": Case(b":data: a\n\n", [Comment(b"data: a")]),
    "fields": Case(
        b"id: 7\nevent: x\nretry: 500\ndata: a\n\n", [Frame(b"a", Fields(id=b"7", event=b"x", retry=b"500"))]
    ),
    "fields behind the data": Case(b"data: a\nid:7\n\n", [Frame(b"a", Fields(id=b"7"))]),
    "the last of equal fields counts": Case(b"id: 1\nid: 2\ndata: a\n\n", [Frame(b"a", Fields(id=b"2"))]),
    "id without a value": Case(b"id\ndata: a\n\n", [Frame(b"a", Fields(id=b""))]),
    "id is not sticky": Case(b"id: 1\ndata: a\n\ndata: b\n\n", [Frame(b"a", Fields(id=b"1")), Frame(b"b")]),
    "a frame without data": Case(b"id: 7\n\ndata: a\n\n", [Frame(None, Fields(id=b"7")), Frame(b"a")]),
    "no phantom events behind an id": Case(b"id: 7\ndata: a\n\n\n\n", [Frame(b"a", Fields(id=b"7"))]),
    "unknown fields": Case(b"x: y\nDATA: z\n data: z\ndata2: z\ndata: a\n\n", [Frame(b"a")]),
    "a line that may be of a torn event": Case(
        b'ata: {"a":1}\n{\ndata: a\n}\n\n', [UnknownField(b'ata: {"a":1}'), UnknownField(b"{"), Frame(b"a")]
    ),
    "a retry that is no number": Case(b"retry: {\nretry: -1\nretry\ndata: a\n\n", [Frame(b"a")]),
    "unknown fields only": Case(b"x: y\n\ndata: a\n\n", [Frame(b"a")]),
    "no blank line at the end": Case(b"data: a\n\ndata: b\n", [Frame(b"a")], (Frame(b"b"),)),
    "no line end at the end": Case(b"data: a\n\ndata: b", [Frame(b"a")], (Frame(b"b"),)),
    "a cr at the end": Case(b"data: b\r", [], (Frame(b"b"),)),
    "several lines, none ended": Case(b"id: 7\ndata: a\ndata: b", [], (Frame(b"a\nb", Fields(id=b"7")),)),
    "fields only, not ended": Case(b"retry: 9\nid: 7", [], (Frame(None, Fields(id=b"7", retry=b"9")),)),
    "an unended comment": Case(b"data: a\n\n: pi", [Frame(b"a")], (Comment(b" pi"),)),
    "characters that str.splitlines breaks at": Case(
        "data: \x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\n\n".encode(),
        [Frame("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029".encode())],
    ),
    "bytes that latin-1 would break at": Case(b"data: \x85\x1c\x0b\n\n", [Frame(b"\x85\x1c\x0b")]),
    "nul": Case(b"data: a\x00b\n\n\x00data: c\n\n", [Frame(b"a\x00b")]),
    "invalid utf-8": Case(b"data: \xff\xc3\n\ndata: \xed\xa0\xbd\n\n", [Frame(b"\xff\xc3"), Frame(b"\xed\xa0\xbd")]),
    "characters of several bytes": Case("data: 北🌧\n\n".encode(), [Frame("北🌧".encode())]),
    "lone surrogate escapes": Case(rb'data: "\ud83d"' + b"\n\n", [Frame(rb'"\ud83d"')]),
    "a payload with the framing's delimiters": Case(rb'data: "\n\ndata: x\r"' + b"\n\n", [Frame(rb'"\n\ndata: x\r"')]),
}
EVERY_CASE = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def decode(chunks: Iterable[bytes], limit: int = LIMIT) -> tuple[list[Item], list[Item]]:
    """The items that came with the chunks, and those that came with the end."""
    decoder = Decoder(limit)
    return [item for chunk in chunks for item in decoder.feed(chunk)], decoder.finish()


def bytewise(stream: bytes) -> list[bytes]:
    return [stream[index : index + 1] for index in range(len(stream))]


@EVERY_CASE
def test_a_stream_in_one_piece(case: Case) -> None:
    assert decode([case.stream]) == (case.items, list(case.rest))


@EVERY_CASE
def test_a_stream_byte_by_byte(case: Case) -> None:
    assert decode(bytewise(case.stream)) == (case.items, list(case.rest))


@EVERY_CASE
def test_a_stream_byte_by_byte_with_empty_chunks(case: Case) -> None:
    assert decode([b"", *(piece for byte in bytewise(case.stream) for piece in (byte, b""))]) == (
        case.items,
        list(case.rest),
    )


@EVERY_CASE
def test_a_stream_in_two_pieces(case: Case) -> None:
    for place in range(len(case.stream) + 1):
        assert decode([case.stream[:place], case.stream[place:]]) == (case.items, list(case.rest)), place


@EVERY_CASE
@settings(max_examples=15)
@given(data=st.data())
def test_a_stream_at_random_cuts(case: Case, data: st.DataObject) -> None:
    assert decode(data.draw(cuts(case.stream))) == (case.items, list(case.rest))


@EVERY_CASE
def test_a_stream_behind_another(case: Case) -> None:
    """What came before, of which the decoder is done, changes nothing; only its byte order mark is not the first."""
    stream = case.stream.removeprefix(BOM)
    before = b"id: 1\ndata: x\n\n"
    items, rest = decode([before, b": x\n", stream])
    assert (items[2:], rest) == decode([b"\n", stream])


@EVERY_CASE
def test_a_stream_with_more_behind_it(case: Case) -> None:
    if not case.rest and case.stream != b"\xef\xbb":
        assert decode([case.stream, b"\n\ndata: next\n\n"]) == ([*case.items, Frame(b"next")], [])


@given(st.data())
def test_events_survive_every_framing_and_every_cut(data: st.DataObject) -> None:
    events = data.draw(runs(max_moves=6))
    stream = data.draw(streams(events))
    items, rest = decode(data.draw(cuts(stream)))
    frames = [item.data for item in [*items, *rest] if isinstance(item, Frame) and item.data is not None]
    assert [json.loads(frame) for frame in frames] == events


@given(st.binary(max_size=200), st.data())
def test_any_bytes_give_the_same_items_however_they_are_cut(stream: bytes, data: st.DataObject) -> None:
    pieces = data.draw(cuts(stream))
    items, rest = decode(pieces)
    whole, whole_rest = decode([stream])
    assert items + rest == whole + whole_rest


@given(
    st.lists(
        st.sampled_from([b"data: ", b"data", b":", b"id: ", b"\r", b"\n", b"\r\n", BOM, b"x", b"\xef", b" "]),
        max_size=30,
    ),
    st.data(),
)
def test_any_lines_give_the_same_items_however_they_are_cut(words: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(words)
    whole = decode([stream])
    assert decode(words) == whole
    assert decode(data.draw(cuts(stream))) == whole


def test_a_frame_is_given_with_its_blank_line_and_not_later() -> None:
    decoder = Decoder(LIMIT)
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\n") == [Frame(b"a")]
    assert decoder.feed(b"data: b\r\n\r") == [Frame(b"b")]
    assert decoder.feed(b"\n: ping\n") == [Comment(b" ping")]


def test_one_frame_is_a_chunk_that_is_one_event_in_the_form_written_here() -> None:
    decoder = Decoder(100)
    frame = b"data: {}\n\n"
    decoder.feed(b"\xef")
    assert decoder.one_frame(frame) is None  # a byte order mark comes first
    decoder = Decoder(100)
    decoder.feed(b"")
    assert decoder.one_frame(frame) is frame
    assert decoder.one_frame(frame) is frame
    others = [
        b"",
        b"data: {}\n",
        b"data: {}\n\n\n",
        b"data: {}\r\n\n",
        b"data: {}\n\r",
        b"data: {}\ndata: {}\n\n",
        b"data: {}\n\ndata: {}\n\n",
        b"data: {}\rid: 1\n\n",
        b"data:{}\n\n",
        b"data: []\n\n",
        b"data:  {}\n\n",
        b": {}\n\n",
        b"data: {}",
        b"\n\n",
    ]
    assert not any(map(decoder.one_frame, [*others, b"data: {" + b"a" * 94 + b"\n\n"]))
    assert decoder.one_frame(b"data: {" + b"a" * 93 + b"\n\n") is not None
    for unfinished in (b"data: a", b"data: a\n", b"id: 1\n", b": a", b"\r"):
        decoder = Decoder(100)
        decoder.feed(frame + unfinished)
        assert decoder.one_frame(frame) is None


@pytest.mark.parametrize("first", [b"", b"\n", b"data: x\n\n"])
def test_a_byte_order_mark_is_skipped_at_byte_0_only(first: bytes) -> None:
    """Also where an empty chunk, or a frame in the usual form, came before it."""
    items, rest = decode([b"", first, b"data: a\n\n", BOM + b"data: b\n\n", b"data: c\n\n"])
    assert [item for item in items if item != Frame(b"x")] == [Frame(b"a"), Frame(b"c")]
    assert rest == []


# The bound.


@pytest.mark.parametrize("event", [b"data: aaaa\n\n", b"data: a\ndata\n\n", b"id: 1\nevent\n\n", b"unknown: a\n\n"])
@pytest.mark.parametrize("cut", [lambda stream: [stream], bytewise], ids=["whole", "bytewise"])
def test_the_bound_is_on_the_lines_of_one_event(event: bytes, cut: type) -> None:
    size = len(event.replace(b"\n", b""))
    items, rest = decode(cut(event + event), limit=size)
    assert TooLarge() not in items
    items, rest = decode(cut(event + event), limit=size - 1)
    assert items[-1] == TooLarge()
    assert rest == []


def test_the_bound_is_not_on_the_chunk() -> None:
    items, _ = decode([b"data: a\n\n" * 1000], limit=10)
    assert items == [Frame(b"a")] * 1000


def test_comments_do_not_add_up_to_an_event() -> None:
    items, rest = decode([b"data: a\n", *[b": ping\n"] * 100, b"\n"], limit=20)
    assert (items[-1], rest) == (Frame(b"a"), [])


def test_a_comment_without_an_end_is_bounded_too() -> None:
    items, rest = decode([b":" + b"a" * 10] * 3, limit=20)
    assert (items, rest) == ([TooLarge()], [])


@pytest.mark.parametrize("cut", [lambda stream: [stream], bytewise], ids=["whole", "bytewise"])
def test_nothing_is_read_behind_an_event_that_is_too_large(cut: type) -> None:
    stream = b"data: a\n\ndata: " + b"b" * 100 + b"\n\ndata: c\n\n: ping\n\n"
    assert decode(cut(stream), limit=50) == ([Frame(b"a"), TooLarge()], [])


def test_what_an_overflow_held_is_freed() -> None:
    decoder = Decoder(1 << 20)

    def feed() -> None:
        decoder.feed(b"id: " + b"7" * 500_000 + b"\ndata: " + b"a" * 100_000 + b"\n")
        while TooLarge() not in decoder.feed(b"x" * 65536):
            pass
        for _ in range(100):
            assert decoder.feed(b"x" * 65536) == []

    left, peak = memory_of(feed)
    assert left < 10_000
    assert peak < 3 << 20


# The work.


@pytest.mark.parametrize("size", [1, 16, 1024])
@pytest.mark.parametrize("unit", [b"a", b"data: a\n", b"data: a\n\n", b": ping\n", b"\r", b"id: 1\r\n"])
def test_work_is_linear_in_the_input_whatever_the_chunking(unit: bytes, size: int) -> None:
    def work(length: int) -> int:
        stream = unit * (length // len(unit))
        chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
        return work_of(lambda: decode([b"data: ", *chunks]))

    assert work(1 << 15) < 2.1 * work(1 << 14)


def test_memory_is_bounded_by_one_event() -> None:
    def feed() -> None:
        decoder = Decoder(LIMIT)
        for _ in range(2000):
            for _ in range(16):
                decoder.feed(b"x" * 64)
            decoder.feed(b"\n\n")

    _, peak = memory_of(feed)
    assert peak < 20_000


# The other way.


@pytest.mark.parametrize(
    ("data", "fields", "frame"),
    [
        (b"a", None, b"data: a\n\n"),
        (b"", None, b"data: \n\n"),
        (b"a\nb\n", None, b"data: a\ndata: b\ndata: \n\n"),
        (b"a", Fields(id=b"7", event=b"x", retry=b"5"), b"id: 7\nevent: x\nretry: 5\ndata: a\n\n"),
        (b"a", Fields(), b"data: a\n\n"),
        (None, Fields(id=b""), b"id: \n\n"),
    ],
)
def test_encode(data: bytes | None, fields: Fields | None, frame: bytes) -> None:
    assert encode(data, fields) == frame


def test_encode_comment() -> None:
    assert (encode_comment(), encode_comment(b" ping")) == (b":\n\n", b": ping\n\n")


line = st.binary(max_size=20).filter(lambda value: not {10, 13} & set(value))
delay = st.integers(min_value=0).map(lambda milliseconds: b"%d" % milliseconds)


@given(st.lists(line, min_size=1), st.none() | st.builds(Fields, st.none() | line, st.none() | line, st.none() | delay))
def test_what_was_encoded_decodes_to_the_same(lines: list[bytes], fields: Fields | None) -> None:
    frame = Frame(b"\n".join(lines), None if fields == Fields() else fields)
    items, rest = decode([encode(frame.data, frame.fields)])
    assert (items, rest) == ([frame], [])
