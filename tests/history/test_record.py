"""The record of a thread: bytes, bounds, and two requests at once."""

import msgspec
import pytest

from agui_middleware.history.record import MAX_BASES, MAX_CHAINS, Chain, Item, Kept, Member, key_of, keys_of
from agui_middleware.protocol.posted import MessageHead


def item(**members: bytes) -> Item:
    return Item({name: Member(value, [b""]) for name, value in members.items()})


def kept(count: int) -> Kept:
    items = {f"m{number}": item(subagentRunId=b'"s"') for number in range(count)}
    calls = {f"c{number}": Item({}, whole=b'{"id":"c"}', holder="m") for number in range(count)}
    extras = {f"x{number}": b"12345678" for number in range(count)}
    return Kept(items=items, calls=calls, extras=extras, chains=[Chain(["m0", "m1"], b"\1\0", b"\1\0", ["m1", "m0"])])


def test_a_record_survives_its_bytes() -> None:
    assert Kept.read(kept(3).to_bytes()) == kept(3)
    assert not kept(3).is_empty
    assert Kept().is_empty


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        kept(2).to_bytes()[:-3],
        msgspec.msgpack.encode([2, {}, {}, {}, []]),
        msgspec.msgpack.encode({"version": 1}),
        msgspec.msgpack.encode([1, {}, {}, {}, [[["a"], b"", b""]]]),
    ],
)
def test_what_is_no_record_counts_as_none(data: bytes) -> None:
    assert Kept.read(data) is None


@pytest.mark.parametrize("limit", [10, 40, 100, 400, 1000, 5000])
def test_a_record_keeps_its_limit_and_what_is_newest(limit: int) -> None:
    data = kept(100).to_bytes(limit)
    assert len(data) <= max(limit, 10)
    read = Kept.read(data)
    assert read is not None
    assert list(read.items) == [f"m{number}" for number in range(100 - len(read.items), 100)]
    assert list(read.calls) == [f"c{number}" for number in range(100 - len(read.calls), 100)]
    assert list(read.extras) == [f"x{number}" for number in range(100 - len(read.extras), 100)]
    assert kept(1).to_bytes(1000) == kept(1).to_bytes()


@pytest.mark.parametrize("limit", [None, 1000])
@pytest.mark.parametrize(
    "cut",
    [
        Kept(items={"\ud800": item(a=b"1")}),
        Kept(items={"x": Item({"\ud800": Member(b"1", [b""])})}),
        Kept(calls={"x": Item({}, whole=b"{}", holder="\ud800")}),
        Kept(extras={"\ud800": b"12345678"}),
        Kept(chains=[Chain(["a", "\ud800"], b"\1\0", b"\1\0")]),
    ],
)
def test_what_an_id_names_that_has_no_utf_8_is_not_kept(cut: Kept, limit: int | None) -> None:
    """It counted as a failure of the store, and cost the rest of the record too."""
    assert Kept.read(kept(3).merged(cut).to_bytes(limit)) == kept(3)


def test_extras_are_what_goes_first() -> None:
    few = Kept(items={"m": item(a=b"1")}, extras={f"x{number}": b"12345678" for number in range(100)})
    read = Kept.read(few.to_bytes(300))
    assert read is not None
    assert list(read.items) == ["m"]
    assert 0 < len(read.extras) < 100
    all_of_them = Kept.read(
        Kept(extras={"x": b"1"}, chains=[Chain(["m"] * 200, b"\0" * 200, b"\0" * 200)]).to_bytes(50)
    )
    assert all_of_them is not None
    assert (all_of_them.chains, all_of_them.extras) == ([], {"x": b"1"})


def test_the_newer_of_two_records_counts() -> None:
    older = Kept(items={"m": item(a=b"1"), "n": item(a=b"1")}, extras={"m": b"1", "x": b"1"})
    newer = Kept(items={"m": item(b=b"2")}, extras={"x": b"2"})
    merged = older.merged(newer)
    assert merged.items == {"n": item(a=b"1"), "m": item(b=b"2")}
    assert list(merged.items) == ["n", "m"]
    assert merged.extras == {"x": b"2"}


def test_an_item_that_lacks_nothing_ends_an_older_one() -> None:
    older = Kept(items={"m": item(a=b"1")}, calls={"c": Item({}, holder="m")})
    merged = older.merged(Kept(items={"m": Item({})}, calls={"c": Item({})}))
    assert merged.is_empty


def test_what_several_clients_hold_is_kept_side_by_side() -> None:
    merged = Kept()
    for number in range(MAX_BASES + 2):
        merged = merged.merged(Kept(items={"m": Item({"content": Member(b'"a"', [b'"%d"' % number])})}))
    bases = merged.items["m"].members["content"].bases
    assert bases == [b'"%d"' % number for number in range(MAX_BASES + 1, 1, -1)]
    other = Kept(items={"m": Item({"content": Member(b'"b"', [b'"x"'])})})
    assert merged.merged(other).items["m"].members["content"].bases == [b'"x"']


def test_older_chains_are_kept_for_what_only_they_place() -> None:
    def chain(stamp: int, *missing: str, seen: tuple[int, ...] = ()) -> Chain:
        flags = bytes([1, *[0] * len(missing)])
        return Chain(["u", *missing], flags, bytes(len(flags)), stamp=stamp, seen=[*seen])

    first = Kept(chains=[chain(1, "a")])
    whole, other, beside = chain(2, "a", "b", seen=(1,)), chain(2, "b", seen=(1,)), chain(2, "a")
    assert first.merged(Kept(chains=[whole])).chains == [whole]
    assert first.merged(Kept(chains=[other])).chains == [other, *first.chains]
    assert first.merged(Kept(chains=[beside])).chains == [beside, *first.chains]
    assert Kept(chains=[beside]).merged(first).chains == [beside, *first.chains], "it began first, and ends last"
    assert first.merged(Kept()).chains == first.chains
    many = Kept()
    for number in range(MAX_CHAINS + 3):
        many = many.merged(Kept(chains=[chain(number, f"m{number}")]))
    assert [found.stamp for found in many.chains] == [*range(MAX_CHAINS + 2, 2, -1)]


def test_chains_that_nobody_has_read_outlive_a_full_record() -> None:
    """As long as they are few and short: here two turns that ran at once."""
    items = {f"m{number}": Item({}, whole=b"x" * 100) for number in range(50)}
    short, long = Chain(["u"], b"\1", b"\1", stamp=1), Chain(["u"] * 300, b"\1" * 300, b"\1" * 300, stamp=2)
    both = Kept.read(Kept(items=items, chains=[short, short]).to_bytes(2000))
    one = Kept.read(Kept(items=items, chains=[long, long]).to_bytes(4000))
    assert both is not None
    assert one is not None
    assert (len(both.chains), len(one.chains)) == (2, 1)


def test_keys_tell_apart_messages_of_one_id() -> None:
    heads = [
        MessageHead("m", "user"),
        MessageHead("m", "assistant"),
        MessageHead("m", "tool", "c"),
        MessageHead("m", "tool"),
        MessageHead(None, "user"),
        MessageHead(None, "user"),
    ]
    keys = keys_of(heads)
    assert len(set(keys)) == len(keys)
    assert keys[0] == "m" == key_of(heads[0])
    assert keys[2] == key_of(heads[2])
