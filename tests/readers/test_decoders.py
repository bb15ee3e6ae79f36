"""Every rewritten run before the models of the decoders: accepted, and all texts, calls and results arrive."""

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from agui_middleware import rewrite
from tests.readers.decoders import DECODERS, DotNet251105, RustCommunity
from tests.readers.decoding import Decoder, Reading
from tests.strategies import Json, plain, runs
from tests.strategies.reader.lanes import Lanes

pytestmark = pytest.mark.untraced
each_decoder = pytest.mark.parametrize("decoder", DECODERS, ids=lambda decoder: decoder.__name__)


def expected(events: list[Json]) -> Reading:
    """All texts, calls and results of a stream, by id."""
    lanes, reading = Lanes(), Reading()
    for origin in events:
        for event in lanes.expand(origin):
            Decoder._assemble(Decoder(), reading, event)
    return reading


def uuids(events: list[Json]) -> list[Json]:
    """The same events with UUIDs in place of ids."""

    def replaced(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: replaced(member, key) for key, member in value.items()}
        if isinstance(value, list):
            return [replaced(element, name) for element in value]
        is_id = name in ("id", "threadId", "runId", "messageId", "parentMessageId", "toolCallId", "entityId")
        return str(uuid5(NAMESPACE_URL, value)) if is_id and isinstance(value, str) else value

    return [replaced(event) for event in events]


@st.composite
def messy(draw: st.DrawFn) -> list[Json]:
    """A run of 1.0 as servers write it: with nulls, fractions in timestamps, without roles, with results in parts."""
    events = []
    for event in draw(runs(max_moves=20)):
        more: Json = draw(
            st.sampled_from([{}, {}, {}, {"timestamp": 1764694800000.5}, {"timestamp": None}, {"rawEvent": None}])
        )
        if event["type"] == "TOOL_CALL_START" and "parentMessageId" not in event and draw(st.booleans()):
            more = more | {"parentMessageId": None}
        event = event | more
        if event["type"] == "TEXT_MESSAGE_START" and event.get("role") == "assistant" and draw(st.booleans()):
            del event["role"]
        events.append(event)
    return events


def fits(decoder: type[Decoder], events: list[Json]) -> list[Json]:
    return uuids(events) if decoder is RustCommunity else events


@each_decoder
@given(data=st.data())
def test_every_rewritten_run_is_accepted_and_everything_arrives(decoder: type[Decoder], data: st.DataObject) -> None:
    events = fits(decoder, data.draw(messy()))
    rewritten = rewrite(plain(events), client=decoder.client)
    note(rewritten.decode("utf-8", "replace"))
    reading = decoder().read(rewritten)
    assert reading.error is None
    assert [event["type"] for event in reading.dropped] == []
    wanted = expected(events)
    assert reading.texts == wanted.texts
    if decoder is not DotNet251105:  # which knows no tool calls
        assert reading.calls.keys() == wanted.calls.keys()
        assert reading.results.keys() == wanted.results.keys()
