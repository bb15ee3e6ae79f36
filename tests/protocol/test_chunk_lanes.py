import pytest
from hypothesis import given
from hypothesis import strategies as st

from agui_middleware.protocol.chunk_lanes import ID_OF, PARENT, Lane, Lanes
from agui_middleware.protocol.event import Event
from tests.notation import Json, stream
from tests.strategies import runs
from tests.work import work_of


def told(lane: Lane) -> str:
    return lane.id if lane.owner is PARENT else f"{lane.id}@{lane.owner}"


def steps(lanes: Lanes, event: Json) -> list[str]:
    """What one event does to the lanes: `+` opens, `.` continues, `-` closes, `?` fits nothing, `!` contradicts."""
    if event["type"] not in ID_OF:
        return ["-" + told(lane) for lane in lanes.close(Event(**event))]
    try:
        taken = lanes.take(Event(**event))
    except LookupError:
        return ["!"]
    if taken is None:
        return ["?"]
    closed = [] if taken.closed is None else ["-" + told(taken.closed)]
    return [*closed, ("+" if taken.opened else ".") + told(taken.lane)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("TK m a; TK _ b; TK m c", "+m .m .m"),
        ("TK m a; TK n b; TK m c", "+m -m +n -n +m"),
        ("TK m a; KK c 1 f; TK _ b", "+m -m +c ?"),
        ("TK m a; GK m b; GK _ c", "+m -m +m .m"),
        # Who: the tag, or the lane that holds the id, or the parent's own, or the only one that fits.
        ("TK m a; TK n b @s; TK _ c; TK _ d @s", "+m +n@s .m .n@s"),
        ("TK n a @s; TK n b; TK n c @s", "+n@s .n@s .n@s"),
        ("TK n a @s; TK _ b", "+n@s .n@s"),
        ("TK n a @s; KK c 1 f; TK _ b", "+n@s +c .n@s"),
        ("TK n a @s; TK o b @u; TK m c; TK _ d", "+n@s +o@u +m .m"),
        ("TK n a @s; TK o b @u; TK _ c", "+n@s +o@u !"),
        ("TK n a @s; TK o b @u; TK n c @u; TK m d; TK m e @s", "+n@s +o@u ! +m !"),
        ("TK n a @s; GK g b; TK _ c; GK _ d", "+n@s +g .n@s .g"),
        ("KK c 1 f @s; KK d 2 f @u; TK m a @s; KK _ 3", "+c@s +d@u -c@s +m@s .d@u"),
        # What fits nothing.
        ("TK _ a; TK _ a @s; KK _ 1; GK _ a", "? ? ? ?"),
        ("KK c 1; KK c 1 f; KK _ 2; KK d 3", "? +c .c ?"),
        ("TK m a messageId=null; TK m a messageId=5; TK m a", "? ? +m"),
        ("TK m a; TK _ b messageId=null", "+m ?"),
        ("TK  messageId=\"\"; TK _ a", "+ ."),
        # What closes.
        ("TK m a; TK n b @s; TS x; TE x @s", "+m +n@s -m -n@s"),
        ("TK m a; TK n b @s; TC n c", "+m +n@s -m"),
        ("TK m a; TK n b @s; SNAP", "+m +n@s -m -n@s"),
        ("TK n b @s; TK m a; TK n b @s; RF r", "+n@s +m .n@s -n@s -m"),
        ("TK n b @s; TK m a; TS x @s; TK n b @s; RE x", "+n@s +m -n@s +n@s -m -n@s"),
        ("TK m a; TK n b @s; SUB- s; TK n c @s", "+m +n@s -n@s +n@s"),
        ("TK m a; TK n b @s; SUB! s", "+m +n@s -n@s"),
        ("TK m a; SUB- s; SUB- s subagentRunId=null; SUB! s subagentRunId=5", "+m"),
        ("TK m a; RAW; AS x; AD x; EV message m; SUB+ s; RAW @s; TK _ b", "+m .m"),
        ("TK m a; CUSTOM x @s; CUSTOM x", "+m -m"),
        ("TK m a; STATE; TK m b; PATCH", "+m -m +m -m"),
        ("TK m a @s; STATE subagentRunId=null; TK _ b", "+m@s .m@s"),
    ],
)  # fmt: skip
def test_lanes(events: str, expected: str) -> None:
    lanes = Lanes()
    assert [step for event in stream(events) for step in steps(lanes, event)] == expected.split()


def test_a_lane_remembers_what_its_start_said() -> None:
    lanes = Lanes()
    for event in stream('TK m a role="user" x=1 @s; KK c 1 f @u; KK d 2 g m; GK g a subagentRunId=null'):
        lanes.take(Event(**event))
    assert {told(lane): lane.start_members for lane in lanes.open.values()} == {
        "m@s": {"role": "user"},
        "c@u": {"toolCallName": "f"},
        "g": {},
    }
    assert [lane.tag for lane in lanes.open.values()] == ["s", "u", None]


def test_an_unknown_type_closes_nothing() -> None:
    lanes = Lanes()
    for event in stream("TK m a; TK n b @s"):
        lanes.take(Event(**event))
    assert lanes.close(Event(type="LATER")) == lanes.close(Event(type="LATER", subagentRunId="s")) == []


@given(runs())
def test_a_valid_stream_leaves_no_chunk_without_its_lane(events: list[Json]) -> None:
    lanes = Lanes()
    told = [step for event in events for step in steps(lanes, event)]
    assert not {"?", "!"} & set(told)
    assert sum(step[0] == "+" for step in told) == sum(step[0] == "-" for step in told) + len(lanes.open)


def test_work_per_event_does_not_grow_with_the_subagents() -> None:
    def work(subagents: int) -> int:
        lanes = Lanes()
        for number in range(subagents):
            lanes.take(Event(type="TEXT_MESSAGE_CHUNK", messageId=f"m{number}", subagentRunId=f"s{number}"))
        chunks = [
            Event(type="TEXT_MESSAGE_CHUNK", messageId="m5"),
            Event(type="TEXT_MESSAGE_CHUNK", subagentRunId="s5"),
        ]
        return work_of(lambda: [lanes.take(chunk) for chunk in chunks] + [lanes.close(Event(type="TEXT_MESSAGE_END"))])

    assert work(10_000) == work(10)


@given(st.lists(st.fixed_dictionaries({"type": st.sampled_from([*ID_OF, "RUN_ERROR", "STEP_STARTED"])}, optional={
    name: st.sampled_from([None, 5, "a", "b", []]) for name in ("messageId", "toolCallId", "subagentRunId", "toolCallName")
})))  # fmt: skip
def test_no_event_is_an_error(events: list[Json]) -> None:
    lanes = Lanes()
    for event in events:
        steps(lanes, event)
