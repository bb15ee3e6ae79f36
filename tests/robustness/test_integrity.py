"""Nothing that need not change does: the bytes of every payload, for every run, every way to write it and to cut it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_middleware import AGUIMiddleware, Context, Event, Route, Settings, rewrite
from agui_middleware.filters import handles
from agui_middleware.filters.hiding import POLICIES
from agui_middleware.protocol.json_object import JsonObject
from tests.robustness.exchange import Exchange, sends
from tests.strategies import cuts, dumped, plain, runs, streams, styles

pytestmark = pytest.mark.untraced

# A run, written and cut, takes long to draw; fewer of them than usual, unless a profile asks for more.
USUAL = settings().max_examples
FEWER = 40 if USUAL == 100 else USUAL
whole = settings(
    deadline=None, max_examples=FEWER, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def payloads(stream: bytes) -> list[bytes]:
    return [line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: ")]


def served(parts: list[bytes], **route: Any) -> bytes:
    app = AGUIMiddleware(sends(*parts), Settings(routes=[Route(path="/agent", **route)]))
    return asyncio.run(Exchange().run(app)).body


@st.composite
def written(draw: st.DrawFn) -> list[bytes]:
    """The payloads of a run, each written in one style: escapes, spaces and orders of members are the agent's choice."""
    style = draw(styles(lf_only=True))
    return [dumped(event, style).replace("\n", " ").encode() for event in draw(runs())]


def framed(objects: list[bytes]) -> bytes:
    return b"".join(b"data: %b\n\n" % each for each in objects)


@given(st.data())
@whole
def test_with_nothing_to_filter_every_byte_is_the_same_however_it_is_cut(data: st.DataObject) -> None:
    stream = framed(data.draw(written()))
    assert served(data.draw(cuts(stream))) == stream


@given(st.data())
@whole
def test_the_framing_is_put_right_and_every_payload_kept(data: st.DataObject) -> None:
    """CRLF, CR, comments, other fields, several data lines: the same values come out, one line each."""
    events = data.draw(runs())
    stream = data.draw(streams(events))
    out = served(data.draw(cuts(stream)))
    assert b"\r" not in out
    assert json.dumps([json.loads(each) for each in payloads(out)], sort_keys=True) == json.dumps(
        events, sort_keys=True
    )


@given(st.data())
@whole
def test_with_a_filter_what_it_leaves_alone_keeps_its_bytes(data: st.DataObject) -> None:
    objects = data.draw(written())
    kept = [each for each in objects if JsonObject.of(each)["type"] not in ("CUSTOM", "RAW")]

    async def without_custom(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
        async for event in events:
            if event.type not in ("CUSTOM", "RAW"):
                yield event

    declared = handles("CUSTOM", "RAW")(without_custom)
    for filter in (without_custom, declared):
        assert payloads(served(data.draw(cuts(framed(objects))), filters=[filter])) == kept


@given(st.data())
@whole
def test_inline_and_hidden_touch_what_is_a_subagents_and_nothing_else(data: st.DataObject) -> None:
    """What leaves in the very bytes in which it came is all that has no tag in it, and no chunk."""
    objects = data.draw(written())
    plain_ones = [each for each in objects if b"subagentRunId" not in each and b"_CHUNK" not in each]
    for visibility in ("inline", "hidden"):
        out = rewrite(framed(objects), visibility=visibility)
        changed = [each for each in payloads(out) if each not in objects]
        assert all(b"_CHUNK" in each or _came_with_a_tag(each, objects) for each in changed)
        if visibility == "inline":
            steps = (b"STEP_FINISHED", b"SUBAGENT_")
            expected = [each for each in plain_ones if not any(step in each for step in steps)]
            assert [each for each in expected if each not in payloads(out)] == []


def _came_with_a_tag(after: bytes, objects: list[bytes]) -> bool:
    """Whether an object of these, apart from tags and what held them, is the very same member by member."""
    new = JsonObject.of(after).members()
    holders = {"messages", "input", "outcome"}
    for each in objects:
        old = JsonObject.of(each).members()
        # Of an event of the run that a subagent has tagged, `hidden` shows only the members that a client needs.
        policy = POLICIES.get(JsonObject.of(each)["type"]) if b"subagentRunId" in each else None
        listed = policy.listed if policy else ()
        gone = {"subagentRunId"} | (old.keys() - {"type", *listed} if listed else set())
        replaced = {"message"} if listed and b"RUN_ERROR" in each else set()
        same = all(bytes(new[name]) == bytes(old[name]) for name in new.keys() & old.keys() - holders - replaced)
        if same and old.keys() - new.keys() <= gone and new.keys() <= old.keys():
            return True
    return False


@given(runs(), st.integers(1, 7))
@whole
def test_the_same_run_in_any_chunking_gives_the_same_bytes(events: list[Any], size: int) -> None:
    stream = plain(events)
    end = min(len(stream), 2000) // size * size  # bytewise beyond that would teach nothing more
    parts = [*(stream[index : index + size] for index in range(0, end, size)), stream[end:]]
    for visibility in ("attributed", "inline", "hidden"):
        assert served(parts, visibility=visibility) == rewrite(stream, visibility=visibility)
