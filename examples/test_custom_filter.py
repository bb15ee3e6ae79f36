"""Tests of a filter of your own: `pytest examples/test_custom_filter.py`.

`run_filter` drives it as the middleware does. Events are plain dicts.
"""

import json
from collections.abc import Sequence
from typing import Any

import anyio
from starlette.authentication import AuthCredentials

from agui_middleware.testing import run_filter
from examples.custom_filter import without_card_numbers

NUMBER = "4111 1111 1111 1111"


def texts(deltas: Sequence[str]) -> list[dict[str, Any]]:
    """A message in these pieces."""
    contents = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta} for delta in deltas]
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    return [start, *contents, {"type": "TEXT_MESSAGE_END", "messageId": "m"}]


def left_of(events: list[dict[str, Any]], *scopes: str) -> list[dict[str, Any]]:
    """What a client with these scopes gets."""

    async def run() -> list[dict[str, Any]]:
        return await run_filter(without_card_numbers, events, scope={"auth": AuthCredentials(scopes)})

    return anyio.run(run)


def test_a_number_is_taken_out_wherever_it_is_cut() -> None:
    text = f"Card {NUMBER}, yes."
    for cut in range(1, len(text)):
        left = left_of(texts([text[:cut], text[cut:]]))
        assert "".join(event.get("delta", "") for event in left) == "Card [card number], yes."


def test_it_is_taken_out_of_a_run_that_fails_and_of_all_that_restates_it() -> None:
    events = [
        *texts([NUMBER])[:-1],
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "n", "role": "assistant", "content": NUMBER}]},
        {"type": "CUSTOM", "name": "card", "value": NUMBER, "rawEvent": {"card": NUMBER}},
        {"type": "RUN_ERROR", "message": f"{NUMBER} was refused"},
    ]
    left = left_of(events)
    assert "4111" not in json.dumps(left, default=dict)
    assert left[-1]["message"] == "[card number] was refused"


def test_who_may_read_it_gets_it() -> None:
    events = texts(["Card 4111 11", "11 1111 1111."])
    assert left_of(events, "cards") == events
