"""Runs as servers write them, and what has to arrive of each."""

from hypothesis import strategies as st

from tests.readers.decoding import Decoder, Reading
from tests.strategies import Json, runs
from tests.strategies.reader.lanes import Lanes


def expected(events: list[Json]) -> Reading:
    """All texts, calls and results of a stream, by id."""
    lanes, reading = Lanes(), Reading()
    for origin in events:
        for event in lanes.expand(origin):
            Decoder._assemble(Decoder(), reading, event)
    return reading


def filled(texts: dict[str, str], events: list[Json]) -> dict[str, str]:
    """Those that hold something. A text with the id of an activity is left out, as `activity-texts` declares."""
    activities = {event["messageId"] for event in events if event["type"] == "ACTIVITY_SNAPSHOT"}
    return {id: text for id, text in texts.items() if text and id not in activities}


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


def restated(events: list[Json]) -> set[str]:
    """The ids of the calls that a snapshot or an input echo brings."""
    holders = [event if event["type"] == "MESSAGES_SNAPSHOT" else event.get("input") or {} for event in events]
    messages = [message for holder in holders for message in holder.get("messages", ())]
    return {call["id"] for message in messages for call in message.get("toolCalls") or ()}
