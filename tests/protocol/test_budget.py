"""One budget a response: what counts, and that it is given back."""

import pytest

from agui_middleware.protocol.budget import OVERHEAD, Budget, Index, size_of
from agui_middleware.protocol.errors import EventTooLarge


def test_a_budget_is_not_exceeded() -> None:
    budget = Budget(10)
    budget.hold(10)
    with pytest.raises(EventTooLarge):
        budget.hold(1)
    budget.release(1)
    budget.hold(1)
    assert budget.held == 10


@pytest.mark.parametrize(
    ("key", "size"),
    [
        ("", OVERHEAD),
        ("abc", OVERHEAD + 3),
        ("ä\U0001f600", OVERHEAD + 8),  # up to four bytes a character, as CPython has it
        (None, OVERHEAD),
        (("abc", None), 2 * OVERHEAD + 3),
    ],
)
def test_the_size_of_a_key(key: object, size: int) -> None:
    assert size_of(key) == size


def test_an_index_counts_each_key_once() -> None:
    budget = Budget()
    index: Index[str, int] = Index(budget, {"a": 1, "b": 2})
    index["a"] = 3
    index.add("b")
    index.update([("a", 4), ("c", 5)])
    assert index.setdefault("c", 9) == 5
    assert index.setdefault("d", 6) == 6
    assert budget.held == sum(map(size_of, index)) == 4 * (OVERHEAD + 1)
    assert index.pop("d") == 6
    assert index.pop("d", 7) == 7
    index.discard("c")
    index.discard("c")
    del index["b"]
    assert index == {"a": 4}
    assert budget.held == OVERHEAD + 1
    index.clear()
    assert (len(index), budget.held) == (0, 0)


def test_a_key_that_exceeds_the_budget_is_not_put_in() -> None:
    index: Index[str, int] = Index(Budget(3 * OVERHEAD))
    index["a"] = index["b"] = 1
    with pytest.raises(EventTooLarge):
        index["c"] = 1
    index["a"] = 2
    assert index == {"a": 2, "b": 1}
