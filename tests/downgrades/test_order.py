"""The order of the rows: what each declares, and that nothing else matters."""

import json
import random
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agui_middleware import ClientVersion, downgrades, rewrite
from agui_middleware.downgrades import DOWNGRADES, SUBAGENTS, Downgrade, thinking
from agui_middleware.downgrades.downgrade import After
from agui_middleware.downgrades.table import BEFORE_VISIBILITY
from agui_middleware.downgrades.table.order import ancestors, ordered
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.subagents import inline
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.stream import recording
from agui_middleware.testing import run_filter
from tests.downgrades.cases import cases

ROWS = {row.name: row for row in DOWNGRADES}
PAIRS = [(other.row, row.name, other.reason) for row in DOWNGRADES for other in row.after]
# For each pair, the smallest events that come out differently where the two are swapped, found by swapping all pairs over
# the corpus and over random events, and by leaving out what does not matter.
SMALLEST = json.loads(Path(__file__).with_name("orders.json").read_text())


@pytest.fixture(autouse=True)
def _ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasoning that was thinking gets the same made-up ids in any order."""
    monkeypatch.setattr(thinking, "uuid4", lambda: "random")


def _row(name: str, *after: str) -> Downgrade:
    return Downgrade(name, "1.0.0", None, "rejects it", after=tuple(After(other, "why") for other in after))


def test_rows_stay_as_listed_but_for_what_they_come_after() -> None:
    rows = [_row("a", "d"), _row("b"), _row("visibility", "c"), _row("c"), _row("d", "e"), _row("e")]
    assert [row.name for row in ordered(rows, "visibility")] == ["c", "visibility", "b", "e", "d", "a"]
    assert ancestors("a", rows) == {"d", "e"}


def test_a_row_that_comes_after_none_that_there_is_names_itself() -> None:
    with pytest.raises(LookupError, match="downgrade a: comes after y, z, which is not in the table"):
        ordered([_row("a", "z", "y"), _row("visibility")], "visibility")


def test_rows_that_come_after_one_another_are_named() -> None:
    with pytest.raises(LookupError, match=r"come after themselves: .*a after b after a|b after a after b"):
        ordered([_row("a", "b"), _row("b", "a"), _row("visibility")], "visibility")


def test_the_rows_before_visibility_are_those_that_need_the_tags() -> None:
    assert {"chunks", "subagents"} == BEFORE_VISIBILITY
    assert [row.name for row in DOWNGRADES[:2]] == ["chunks", "subagents"]


def _filter(name: str) -> Filter:
    filter = inline if name == SUBAGENTS.name else ROWS[name].filter  # the row stands for the route's visibility
    assert filter is not None, f"{name} has no filter, and so no order"
    return filter


@pytest.mark.parametrize(("first", "then", "reason"), PAIRS, ids=[f"{then} after {first}" for first, then, _ in PAIRS])
async def test_why_two_rows_may_not_be_swapped(first: str, then: str, reason: str) -> None:
    example = SMALLEST[f"{first} < {then}"]
    outputs = []
    for names in ((first, then), (then, first)):
        events: Sequence[Any] = example["events"]
        for name in names:
            events = await run_filter(_filter(name), events, client=example["release"])
        outputs.append(events)
    assert outputs[0] != outputs[1], f"{then} need not come after {first}: {reason}"


def test_no_example_is_left_over() -> None:
    assert set(SMALLEST) == {f"{first} < {then}" for first, then, _ in PAIRS}


def test_a_pair_has_a_release_that_needs_both() -> None:
    for first, then, _ in PAIRS:
        assert any({ROWS[first], ROWS[then]} <= {*downgrades.downgrades_for(release)} for release in RELEASES)


def _other_orders() -> Iterator[tuple[Downgrade, ...]]:
    yield ordered(DOWNGRADES[::-1], SUBAGENTS.name)
    for seed in range(3):
        yield ordered(random.Random(seed).sample(DOWNGRADES, len(DOWNGRADES)), SUBAGENTS.name)


def _forget_plans() -> None:
    downgrades.downgrades_for.cache_clear()
    recording._plan_without_filters.cache_clear()


@pytest.mark.untraced
def test_any_order_that_the_rows_allow_gives_the_same_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    releases = [release for release in RELEASES if release < ClientVersion(0, 0, 59)]
    streams = [(case.name, case.run.stream, releases[n % len(releases)]) for n, case in zip(count(), cases())]
    expected = [rewrite(stream, client=release) for _, stream, release in streams]
    for order in _other_orders():
        assert order != DOWNGRADES
        monkeypatch.setattr(downgrades, "DOWNGRADES", order)
        _forget_plans()
        try:
            for (name, stream, release), bytes_in_order in zip(streams, expected, strict=True):
                if rewrite(stream, client=release) != bytes_in_order:
                    names = " ".join(row.name for row in downgrades.downgrades_for(release))
                    pytest.fail(f"{name} for {release}: another order, which the rows allow, changes it: {names}")
        finally:
            _forget_plans()
