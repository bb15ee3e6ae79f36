"""JSON of wrong types, missing, null, huge, deep, doubled and half: nothing raises, and nothing of it is changed."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agui_middleware import AGUIMiddleware, EventType, Route, Settings, rewrite
from agui_middleware.protocol.json_scan import members
from agui_middleware.protocol.releases import RELEASES
from tests.robustness.exchange import Exchange, sends
from tests.robustness.hostile import BROKEN, NAMES, READ, READ_TYPES, RUN, VALUES, conversations, framed
from tests.robustness.leaks import run_clean

pytestmark = pytest.mark.untraced

hostile = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
OLD = [str(release) for release in RELEASES]
OURS = (b"AGUI_FILTER_ERROR", b"AGUI_MALFORMED_EVENT", b"AGUI_EVENT_TOO_LARGE")


def ended_by_us(stream: bytes) -> bool:
    return any(code in stream for code in OURS)


def objects_of(stream: bytes) -> list[bytes]:
    return [line.removeprefix(b"data: ") for line in stream.split(b"\n") if line.startswith(b"data: ")]


@given(conversations())
@hostile
def test_attributed_passes_every_byte(conversation: list[bytes]) -> None:
    assert rewrite(framed(conversation)) == framed(conversation)


@given(conversations())
@hostile
def test_inline_takes_tags_off_and_changes_nothing_else(conversation: list[bytes]) -> None:
    out = rewrite(framed(conversation), visibility="inline")
    assert not ended_by_us(out)
    rest = iter(conversation)
    for object in objects_of(out):
        assert any(_differs_by_tags_only(object, original) for original in rest), object


def _differs_by_tags_only(object: bytes, original: bytes) -> bool:
    """Member by member, in bytes, apart from those that may hold tags, and ids and names that a chunk was given."""
    before, after = members(original), members(object)
    chunk = b"_CHUNK" in after["type"]
    carriers = {"messages", "input", "outcome"}
    added = after.keys() - before.keys()
    return (
        before.keys() - after.keys() <= {"subagentRunId"}
        and (chunk or not added)
        and all(after[name] == before[name] for name in after.keys() - added - carriers)
    )


@given(conversations())
@hostile
def test_hidden_raises_nothing_and_tells_nothing_in_the_end(conversation: list[bytes]) -> None:
    out = rewrite(framed(conversation), visibility="hidden")
    assert b"AGUI_FILTER_ERROR" not in out
    assert out.count(b"AGUI_MALFORMED_EVENT") <= 1
    if ended_by_us(out):
        assert b"AGUI_MALFORMED_EVENT" in objects_of(out)[-1]


@given(conversations(), st.sampled_from(OLD), st.sampled_from(["auto", "hidden"]))
@hostile
def test_no_release_makes_a_filter_raise(conversation: list[bytes], release: str, visibility: str) -> None:
    out = rewrite(framed(conversation), client=release, visibility=visibility)
    assert b"AGUI_FILTER_ERROR" not in out
    assert visibility == "hidden" or not ended_by_us(out)


@pytest.mark.parametrize("value", VALUES)
def test_every_member_of_every_type_may_be_anything(value: str) -> None:
    """For a reader of each kind; what takes long to scan, in the members that something reads, and for two releases."""
    heavy = "deep" in value
    for name in READ if heavy else NAMES:
        types = READ_TYPES if heavy else EventType
        hostile = [b'{"type":"%b","%b":%b}' % (type.encode(), name.encode(), VALUES[value]) for type in types]
        stream = framed([RUN[0], *hostile, RUN[1]])
        assert rewrite(stream) == stream
        assert not ended_by_us(rewrite(stream, visibility="inline")), name
        for release in ("0.0.36", "0.0.58") if heavy else ("0.0.27", "0.0.36", "0.0.45", "0.0.58"):
            assert not ended_by_us(rewrite(stream, client=release)), (name, release)
        assert b"AGUI_FILTER_ERROR" not in rewrite(stream, visibility="hidden"), name


@pytest.mark.parametrize("broken", BROKEN.values(), ids=[*BROKEN])
@pytest.mark.parametrize("visibility", ["attributed", "inline", "hidden"])
def test_what_is_no_json_passes_as_it_came_or_ends_a_hidden_run(broken: bytes, visibility: str) -> None:
    objects = [RUN[0], b'{"type":"CUSTOM","name":"x","value":%b}' % broken, RUN[1]]
    out = rewrite(framed(objects), visibility=visibility)
    if visibility == "hidden":
        assert b"AGUI_MALFORMED_EVENT" in objects_of(out)[1]
        assert len(objects_of(out)) == 2
    else:
        assert out == framed(objects)


ENDLESS = {
    "an event": [b"data: ", *[b"x" * 65536] * 600],
    "lines of an event": [b"data: x\n" * 8192] * 600,
    "a comment": [b": ", *[b"x" * 65536] * 600],
    "a field": [b"id: ", *[b"x" * 65536] * 600],
    "an unknown field": [b"x" * 65536] * 600,
    "a nested event": [b"data: ", *[b'{"a":' * 10000] * 600],
}


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("visibility", ["attributed", "inline", "hidden"])
def test_memory_is_bounded_by_the_size_of_an_event(kind: str, visibility: Any) -> None:
    """Forty megabytes that never end, of which no more than a small multiple of the bound is ever held."""
    bound = 256 * 1024
    route = Route(path="/agent", visibility=visibility)
    app = AGUIMiddleware(sends(*ENDLESS[kind]), Settings(routes=[route], max_event_bytes=bound))

    async def scenario() -> None:
        exchange = Exchange()
        tracemalloc.start()
        try:
            await exchange.run(app)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert exchange.events[-1]["code"] == "AGUI_EVENT_TOO_LARGE"
        assert peak < 4 * bound + 64 * 1024

    run_clean(scenario)
