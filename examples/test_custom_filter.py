"""Tests of a filter of your own: `pytest examples/test_custom_filter.py`.

`run_filter` drives it as the middleware does. Events are plain dicts.
"""

from collections.abc import Sequence
from typing import Any

import anyio

from agui_middleware.testing import run_filter
from examples.custom_filter import without_card_numbers


def texts(deltas: Sequence[str]) -> list[dict[str, Any]]:
    """A message in these pieces."""
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta} for delta in deltas]
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    return [start, *contents, {"type": "TEXT_MESSAGE_END", "messageId": "m"}]


def left_of(deltas: Sequence[str]) -> str:
    """The text that the filter leaves of a message."""

    async def run() -> str:
        return "".join(event.get("delta", "") for event in await run_filter(without_card_numbers, texts(deltas)))

    return anyio.run(run)


def test_a_number_is_taken_out_wherever_it_is_cut() -> None:
    text = "Card 4111 1111 1111 1111, yes."
    for cut in range(1, len(text)):
        assert left_of([text[:cut], text[cut:]]) == "Card [card number], yes."


def test_other_numbers_stay() -> None:
    assert left_of(["In 753 BC ", "and 10", "40."]) == "In 753 BC and 1040."


def test_what_is_no_text_stays_as_it_is() -> None:
    events = [{"type": "CUSTOM", "name": "card", "value": "4111 1111 1111 1111"}]
    assert anyio.run(run_filter, without_card_numbers, events) == events
