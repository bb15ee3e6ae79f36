"""The bytes of a drawn stream say what its events say, in every style, and real clients read those in LF."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.strategies import Json, batch, canonical, cuts, plain, runs, streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.client import Client

pytestmark = pytest.mark.generator
EXAMPLES = 80
START: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISH: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def frames(data: bytes) -> list[Any]:
    """What a decoder by the book gets, and the last frame too where its blank line is missing."""
    found: list[Any] = []
    gathered: list[str] = []
    for line in [*re.split("\r\n|\n|\r", data.decode().removeprefix("\ufeff")), ""]:
        if line.startswith("data:"):
            gathered.append(line[5:].removeprefix(" "))
        elif not line and gathered:
            found.append(json.loads("\n".join(gathered)))
            gathered = []
    return found


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_streams_say_the_same_in_other_bytes(data: st.DataObject) -> None:
    events = data.draw(runs(max_moves=10))
    assert canonical(frames(data.draw(streams(events)))) == canonical(events)


@pytest.mark.parametrize(
    "mark",
    [
        rb"\A\xef\xbb\xbf",
        rb"(?m)^data: ",
        rb"(?m)^data:[^ ]",
        rb"[\r\n]:",
        rb"[\r\n]retry",
        rb"\r\n\r\n",
        rb"\A[^\n]+\r\r[^\n]*\Z",
        rb"[^\n]\n\n.*\r\r",
        rb"\}\Z",
        rb"\}[\r\n]\Z",
        rb"data: ?\{[\r\n]+data: ? ",
    ],
)
def test_streams_draw_every_framing(mark: bytes) -> None:
    events = [{"type": "CUSTOM", "name": "n", "value": {"a": 1}}] * 6
    assert any(re.search(mark, example, re.DOTALL) for example in batch(streams(events), EXAMPLES))


@pytest.mark.parametrize("release", ["0.0.27", "0.0.58", "1.0.0"])
def test_streams_in_lf_are_read_by_every_client(client: Callable[[str], Client], release: str) -> None:
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    text = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "é\u2028\ud83d😀\ndata: x\n\n"}
    events = [START, start, text, {"type": "TEXT_MESSAGE_END", "messageId": "m"}, FINISH]
    expected = client(release).read(plain(events))
    assert expected.messages[0]["content"] == text["delta"]
    for outcome in client(release).read_many(batch(streams(events, lf_only=True), EXAMPLES)):
        assert outcome.accepted
        assert outcome.ends_like(expected)


@given(st.binary(max_size=64), st.data())
def test_cuts_lose_nothing(stream: bytes, data: st.DataObject) -> None:
    assert b"".join(data.draw(cuts(stream))) == stream


def test_cuts_reach_every_place() -> None:
    examples = batch(cuts(b"ab\r\ncd"), EXAMPLES)
    places = {sum(map(len, pieces[:index])) for pieces in examples for index in range(len(pieces))}
    assert places == set(range(7))
    assert [b"a", b"b", b"\r", b"\n", b"c", b"d"] in examples
    assert any(b"" in pieces for pieces in examples)
