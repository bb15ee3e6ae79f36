"""Faults in the order of events: the smallest stream of each, which no client reads, and what all clients read instead."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given, settings

from agui_middleware import rewrite
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.repair_also import FAULTS, repair_also
from agui_middleware.testing import encode_events, run_filter
from tests.clients.client import Client
from tests.notation import Json, stream
from tests.strategies import plain, runs

StartClient = Callable[[str], Client]
RELEASES = ("0.0.37", "0.0.44", "0.0.58", "1.0.0")

FAULTY = {  # by fault: what no client reads, and what is made of it
    "chunk-inside": [
        ("TS m; TK m a; TK m b; TE m", "TS m; TC m a; TC m b; TE m"),
        ("TS m; TK m; TK _ b; TE m", 'TS m; TC m delta=""; TC m b; TE m'),
        ('TS m; TK m a role="assistant" name="x"; TE m', "TS m; TC m a; TE m"),
        ("TS m; TK _ a; TE m", "TS m; TC m a; TE m"),
        ("KS c; KK c 1 search m; KK _ 2; KE c", "KS c; KA c 1; KA c 2; KE c"),
        ("GS g; GK g a; GE g", "GS g; GC g a; GE g"),
        (
            "SUB+ s; TS n @s; TK n a @s; TK _ b @s; TE n @s; SUB- s",
            "SUB+ s; TS n @s; TC n a @s; TC n b @s; TE n @s; SUB- s",
        ),
    ],
    "doubled-end": [
        ("TS m; TC m a; TE m; TE m", "TS m; TC m a; TE m"),
        ("KS c; KE c; KE c; KE c", "KS c; KE c"),
        ("GS g; GE g; TS m; GE g; TE m", "GS g; GE g; TS m; TE m"),
    ],
    "left-open": [
        ("KS c; KA c {}", "KS c; KA c {}; KE c"),
        ("TS m; TC m a; KS c m", "TS m; TC m a; KS c m; KE c; TE m"),
        ("GS g; GC g a", "GS g; GC g a; GE g"),
        ("SUB+ s; TS n @s; SUB- s", "SUB+ s; TS n @s; SUB- s; TE n @s"),
    ],
    "usage-object": [],
}
CASES = [(fault, *case) for fault, cases in FAULTY.items() for case in cases]
EVERY_CASE = pytest.mark.parametrize(("fault", "wrong", "right"), CASES, ids=[wrong for _, wrong, _ in CASES])
USAGE = [
    (stream('RS r; RF r usage={"inputTokens":1}'), stream('RS r; RF r usage=[{"inputTokens":1}]')),
    (stream('RS r; RE x usage={"inputTokens":1}'), stream('RS r; RE x usage=[{"inputTokens":1}]')),
]


def whole(events: str) -> list[Json]:
    return stream(f"RS r; {events}; RF r")


def others(fault: str) -> Collection[str]:
    return [other for other in FAULTS if other != fault]


@EVERY_CASE
async def test_a_fault_is_repaired_where_it_was_chosen_and_reported(fault: str, wrong: str, right: str) -> None:
    losses: list[Loss] = []
    assert await run_filter(repair_also([fault]), whole(wrong), losses=losses) == whole(right)
    assert losses
    assert all(loss.reason.startswith("repaired: ") for loss in losses)
    assert await run_filter(repair_also(others(fault)), whole(wrong)) == whole(wrong)


@EVERY_CASE
@pytest.mark.parametrize("release", RELEASES)
def test_no_client_reads_it_and_all_do_once_it_is_repaired(
    client: StartClient, release: str, fault: str, wrong: str, right: str
) -> None:
    assert fault in FAULTS
    if "G" in right or "SUB" in right:
        release = "1.0.0"  # earlier ones do not check reasoning, or do not know subagents
    before, after = client(release).read_many(
        [encode_events(whole(wrong)), rewrite(encode_events(whole(wrong)), client=release, filters=[repair_also()])]
    )
    assert not before.accepted
    assert after.accepted, after.error


@pytest.mark.parametrize(("wrong", "right"), USAGE)
async def test_usage_that_is_one_object_becomes_a_list(
    client: StartClient, wrong: list[Json], right: list[Json]
) -> None:
    losses: list[Loss] = []
    assert await run_filter(repair_also(["usage-object"]), wrong, losses=losses) == right
    assert [loss.feature for loss in losses] == [f"usage of {wrong[-1]['type']}"]
    assert await run_filter(repair_also(others("usage-object")), wrong) == wrong
    before, after = client("1.0.0").read_many([encode_events(wrong), encode_events(right)])
    assert before.error
    assert "usage" in before.error
    assert after.error is None or "usage" not in after.error


@pytest.mark.parametrize(
    "events",
    [
        "RS r; TS m; TC m a; TE m; KK c 1 f; KK _ 2; KS d; KE d; TS m; TE m; RF r",
        "RS r; TK m a; TK _ b; TS n; TK m c; TE n; RF r",
        "RS r; TE x; KE x; RF r",
        "RS r; TS m; RE x; RS q; TE m; RF q",
        "RS r; TS m; TS n; TK _ a; TE m; TE n; RF r",
        'RS r; TS m messageId=5; TK x messageId=5; TE m messageId=5; TE m messageId=5; RF r usage=[{"inputTokens":1}]',
        "RS r; RF r usage=5",
        "RS r; TS n @s; TK _ a; TE n @s; RF r",
    ],
)
async def test_everything_else_stays_as_it_is(events: str) -> None:
    losses: list[Loss] = []
    assert await run_filter(repair_also(), stream(events), losses=losses) == stream(events)
    assert losses == []


@settings(max_examples=30)
@given(events=runs())
def test_valid_runs_keep_their_bytes(events: list[Json]) -> None:
    assert rewrite(plain(events), filters=[repair_also()]) == plain(events)


@pytest.mark.parametrize(
    ("faults", "error", "says"),
    [
        ("doubled-end", TypeError, "faults is a list"),
        ([5], TypeError, "faults is a list"),
        (["nulls", "x"], ValueError, "chunk-inside, doubled-end, left-open, usage-object, not nulls, x"),
    ],
)
def test_faults_are_chosen_by_name(faults: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        repair_also(faults)


def test_an_id_of_a_kilobyte_is_not_repeated_in_chunks() -> None:
    filter = repair_also(["chunk-inside"])
    for size, failed in ((1024, False), (1025, True)):
        id = "m" * size
        events = [
            {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"},
            {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"},  # which the client refuses
            {"type": "TEXT_MESSAGE_CHUNK", "delta": "a"},
        ]
        assert (b"AGUI_EVENT_TOO_LARGE" in rewrite(encode_events(events), filters=[filter])) is failed
