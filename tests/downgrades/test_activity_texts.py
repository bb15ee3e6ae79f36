import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, made
from tests.notation import stream as noted

ACTIVITY: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {"x": 1}}
SHOWN: Json = {"id": "a", "role": "activity", "activityType": "plan", "content": {"x": 1}}


def streamed(kind: str) -> list[Json]:
    role = {"TEXT": "assistant", "REASONING": "reasoning"}[kind]
    return [
        {"type": f"{kind}_MESSAGE_START", "messageId": "a", "role": role},
        {"type": f"{kind}_MESSAGE_CONTENT", "messageId": "a", "delta": "hm"},
        {"type": f"{kind}_MESSAGE_END", "messageId": "a"},
    ]


@pytest.mark.parametrize("kind", ["TEXT", "REASONING"])
def test_an_activity_keeps_its_content(client: StartClient, kind: str) -> None:
    minimal = Minimal(client, "activity-texts")
    for release in ("0.0.58", "0.0.45", "0.0.41"):
        assert minimal.reads(release, minimal.rewritten(release, ACTIVITY, *streamed(kind))).messages == [SHOWN]
    assert minimal.original("1.0.0", ACTIVITY, *streamed(kind)).messages == [SHOWN]
    assert minimal.original("0.0.58", ACTIVITY, *streamed(kind)).messages != [SHOWN]


def test_the_text_of_an_activity_is_read_from_0_0_59_on(client: StartClient) -> None:
    assert Minimal(client, "activity-texts").proves(ACTIVITY, *streamed("TEXT"), alike=False).messages == [SHOWN]


def test_without_activities_there_is_no_text_of_one(client: StartClient) -> None:
    minimal = Minimal(client, "activity-texts")
    for release in ("0.0.40", "0.0.36", "0.0.27"):
        end = minimal.reads(release, minimal.rewritten(release, ACTIVITY, *streamed("TEXT")))
        assert (end.accepted, end.messages) == (True, [])


@pytest.mark.parametrize("chunk", [True, False])
def test_reasoning_is_read_from_1_0_0_on(client: StartClient, chunk: bool) -> None:
    start: Json = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "a", "delta": "hm"}
    events = [start] if chunk else streamed("REASONING")
    assert Minimal(client, "activity-reasoning").proves(ACTIVITY, *events).messages == [SHOWN]


@pytest.mark.parametrize("tag", ["", " @s"])
def test_reasoning_that_is_dropped_closes_chunks_all_the_same(client: StartClient, tag: str) -> None:
    """A call that is continued behind it is another piece, with a name of its own."""
    opened = f"AS a{tag}; GS a{tag}; KK c {{ look{tag}"
    events = noted(f"{opened}; GC a x{tag}; KK c }} find{tag}; GE a{tag}")
    end = Minimal(client, "activity-reasoning").proves(*events)
    assert end.messages == Minimal(client, "activity-reasoning").original("1.0.0", *events).messages
    written = [event["type"] for event in made("0.0.59", *events)]
    assert written[2:] == ["TOOL_CALL_CHUNK", "REASONING_MESSAGE_START", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_END"]


def test_reasoning_that_closes_nothing_is_dropped() -> None:
    assert made("0.0.59", *noted("AS a; GS a; GC a x; GC a y")) == noted("AS a; GS a")


def test_a_text_that_an_activity_takes_the_id_of_is_closed(client: StartClient) -> None:
    start, content, end = streamed("TEXT")
    events = [start, content, ACTIVITY, content, end]
    assert Minimal(client, "activity-texts").proves(*events, alike=False).messages == [SHOWN]
    assert made("0.0.58", STARTED, *events, FINISHED)[-2:] == [end, FINISHED]


def test_an_activity_that_only_adds_leaves_a_text_what_it_is() -> None:
    events = [STARTED, *streamed("TEXT"), {**ACTIVITY, "replace": False}, *streamed("TEXT"), FINISHED]
    assert made("0.0.58", *events) == events


def test_a_snapshot_may_take_the_activity_away() -> None:
    events = [STARTED, ACTIVITY, {"type": "MESSAGES_SNAPSHOT", "messages": []}]
    assert made("0.0.58", *events, *streamed("TEXT"))[-3:] != streamed("TEXT")  # 1.0.0 keeps it: it says nothing of any
    other = {"id": "b", "role": "activity", "activityType": "plan", "content": {}}
    events[-1] = {"type": "MESSAGES_SNAPSHOT", "messages": [other]}
    assert made("0.0.58", *events, *streamed("TEXT"))[-3:] == streamed("TEXT")
