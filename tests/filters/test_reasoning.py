"""Reasoning that a route keeps to itself."""

import pytest

from agui_middleware.filters.reasoning import without_reasoning
from agui_middleware.testing import run_filter
from tests.notation import Json, stream


@pytest.mark.parametrize(
    ("events", "left"),
    [
        ("SPAN+ g; GS g; GC g hm; GE g; SPAN- g; TS m; TC m hi; TE m", "TS m; TC m hi; TE m"),
        ("GK g hm; GK _ hm; TK m hi; RAW", "TS m; TC m hi; RAW"),
        ("TK m a; GS g; GE g; TK m b; RF r", "TS m; TC m a; TE m; TS m; TC m b; TE m; RF r"),
        (
            "GS g; GE g; EV message g; TS m; EV message m; KS g; EV tool-call g",
            "TS m; EV message m; KS g; EV tool-call g",
        ),
        ("SNAP g:reasoning m:assistant; EV message g", "SNAP m:assistant"),
        ("RS r g:reasoning m:user; EV message g", "RS r m:user"),
        ("KS c; KE c; KR c t", "KS c; KE c; KR c t"),
    ],
)
async def test_reasoning_goes_and_nothing_else(events: str, left: str) -> None:
    assert await run_filter(without_reasoning, stream(events)) == stream(left)


async def test_thinking_goes_too() -> None:
    types = ("START", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "END")
    thinking: list[Json] = [{"type": f"THINKING_{type}"} for type in types]
    assert await run_filter(without_reasoning, [*thinking, *stream("TS m")]) == stream("TS m")


async def test_encrypted_values_of_what_stays_stay() -> None:
    message = {"id": "m", "role": "assistant", "content": "hi", "encryptedValue": "x"}
    snapshot = [{"type": "MESSAGES_SNAPSHOT", "messages": [message]}]
    assert await run_filter(without_reasoning, snapshot) == snapshot
