"""Children of one tool whose events do not say which call they belong to."""

from collections.abc import Iterable

import pytest

from agui_middleware.agent_events import AgentEvent, AssistantText, Done, RunOutcome, TurnStart
from tests.agent_events.loops import FINISHED, AGUIEvent, nest, of_type, said
from tests.agent_events.test_nesting import call, piece, result

CALLS = call("a"), call("b")


def ask(*events: AgentEvent) -> list[AgentEvent]:
    return nest("ask", None, *events)


def done(text: str) -> Done:
    return Done(outcome=RunOutcome(status="finished", text=text))


def texts(events: Iterable[AGUIEvent]) -> dict[str, str]:
    """The text of each subagent, in the order in which they began to speak."""
    spoken: dict[str, str] = {}
    for event in of_type("TEXT_MESSAGE_CONTENT", events):
        tag = event["subagentRunId"]
        spoken[tag] = spoken.get(tag, "") + event["delta"]
    return spoken


def test_only_call_of_the_tool_is_the_childs() -> None:
    events = said(call("x", "other"), call("c"), *ask(TurnStart(turn=1)), result("c"))
    assert of_type("SUBAGENT_STARTED", events)[0]["parentToolCallId"] == "c"
    assert of_type("SUBAGENT_FINISHED", events)[0]["subagentRunId"] == "r1-ask"


def test_id_that_comes_later_finds_the_same_child() -> None:
    events = said(call("c"), *ask(piece("a")), *nest("ask", "c", piece("b")))
    assert texts(events) == {"r1-ask": "ab"}


def test_children_one_after_the_other_are_two() -> None:
    one_by_one = [event for id in "ab" for event in (call(id), *ask(piece(id), FINISHED), result(id))]
    events = said(*one_by_one)
    assert texts(events) == {"r1-ask": "a", "r1-ask-2": "b"}
    assert [event["parentToolCallId"] for event in of_type("SUBAGENT_STARTED", events)] == ["a", "b"]


def test_second_child_begins_with_a_turn_that_the_first_has_had() -> None:
    a, b = (ask(TurnStart(turn=1), piece(id)) for id in "ab")
    events = said(*CALLS, *a, *b)
    assert texts(events) == {"r1-ask": "a", "r1-ask-2": "b"}
    assert all("parentToolCallId" not in event for event in of_type("SUBAGENT_STARTED", events))


def test_second_child_of_a_second_call_is_linked_to_it() -> None:
    a, b = ([call(id), *ask(TurnStart(turn=1), piece(id))] for id in "ab")
    events = said(*a, *b)
    assert texts(events) == {"r1-ask": "a", "r1-ask-2": "b"}
    assert [event["parentToolCallId"] for event in of_type("SUBAGENT_STARTED", events)] == ["a", "b"]


def test_children_of_calls_that_are_never_announced_are_told_apart_too() -> None:
    events = said(*ask(TurnStart(turn=1), piece("a"), TurnStart(turn=1), piece("b")))
    assert texts(events) == {"r1-ask": "a", "r1-ask-2": "b"}


def test_turn_that_is_had_again_is_no_second_child_of_an_only_call() -> None:
    events = said(call("c"), *ask(TurnStart(turn=1), piece("a"), TurnStart(turn=1), piece("b")))
    assert texts(events) == {"r1-ask": "ab"}


def test_turn_goes_to_the_child_that_has_come_nearest_to_it() -> None:
    begun = ask(TurnStart(turn=1), piece("a"), TurnStart(turn=2), TurnStart(turn=1), piece("b"))
    events = said(*CALLS, *begun, *ask(TurnStart(turn=3), piece("a"), TurnStart(turn=2), piece("b")))
    assert texts(events) == {"r1-ask": "aa", "r1-ask-2": "bb"}


def test_turn_goes_to_the_last_speaker_of_those_as_near() -> None:
    events = said(*CALLS, *ask(TurnStart(turn=1), piece("a"), TurnStart(turn=1), TurnStart(turn=2), piece("b")))
    assert texts(events) == {"r1-ask": "a", "r1-ask-2": "b"}


def test_turn_goes_past_the_last_speaker_that_waits_for_a_result() -> None:
    turns: list[AgentEvent] = [
        TurnStart(turn=1),
        call("x", "look"),
        result("x", "r", "look"),
        TurnStart(turn=1),
        call("y", "look"),
    ]
    events = said(*CALLS, *ask(*turns, TurnStart(turn=2)))
    assert [event["subagentRunId"] for event in of_type("STEP_STARTED", events)] == ["r1-ask", "r1-ask-2", "r1-ask"]


def test_turn_may_follow_what_came_before_any_turn() -> None:
    assert texts(said(*CALLS, *ask(piece("a"), TurnStart(turn=1), piece("b")))) == {"r1-ask": "ab"}


def test_result_goes_to_the_child_that_asked() -> None:
    asking = ask(TurnStart(turn=1), call("x", "look"), TurnStart(turn=1), result("x", "r", "look"), piece("a"))
    events = said(*CALLS, *asking)
    assert of_type("TOOL_CALL_RESULT", events)[0]["subagentRunId"] == "r1-ask"
    assert texts(events) == {"r1-ask": "a"}


def test_grandchild_goes_to_the_child_that_holds_its_call() -> None:
    holding = ask(TurnStart(turn=1), call("x", "look"), TurnStart(turn=1), *nest("look", "x", piece("a")))
    started = of_type("SUBAGENT_STARTED", said(*CALLS, *holding))
    assert [event.get("parentSubagentRunId") for event in started] == [None, None, "r1-ask"]


def test_grandchild_without_an_id_goes_to_the_last_speaker() -> None:
    holding = ask(TurnStart(turn=1), TurnStart(turn=1), *nest("look", None, piece("a")))
    started = of_type("SUBAGENT_STARTED", said(*CALLS, *holding))
    assert started[2]["parentSubagentRunId"] == "r1-ask-2"


def test_whole_text_goes_to_the_child_that_streamed_it() -> None:
    streaming = ask(TurnStart(turn=1), piece("a"), TurnStart(turn=1), piece("b"))
    events = said(*CALLS, *streaming, *ask(AssistantText(text="alpha"), AssistantText(text="beta")))
    assert texts(events) == {"r1-ask": "alpha", "r1-ask-2": "beta"}


def test_whole_text_that_nobody_streamed_goes_to_the_last_speaker() -> None:
    events = said(*CALLS, *ask(TurnStart(turn=1), TurnStart(turn=1), AssistantText(text="beta")))
    assert texts(events) == {"r1-ask-2": "beta"}


def test_done_goes_to_the_child_whose_text_it_repeats() -> None:
    speaking = ask(TurnStart(turn=1), AssistantText(text="a"), TurnStart(turn=1), AssistantText(text="b"))
    events = said(*CALLS, *speaking, *ask(done("a"), done("b")))
    assert [(event["subagentRunId"], event["result"]) for event in of_type("SUBAGENT_FINISHED", events)] == [
        ("r1-ask", "a"),
        ("r1-ask-2", "b"),
    ]


def test_done_without_text_goes_to_the_last_speaker() -> None:
    events = said(*CALLS, *ask(TurnStart(turn=1), TurnStart(turn=1), FINISHED))
    assert of_type("SUBAGENT_FINISHED", events)[0]["subagentRunId"] == "r1-ask-2"


def test_children_without_turns_are_one_until_its_done() -> None:
    """As far as the stream allows, and no further: this is the documented limit."""
    assert texts(said(*CALLS, *ask(piece("a"), piece("b"), FINISHED, piece("c")))) == {"r1-ask": "ab", "r1-ask-2": "c"}


def test_result_that_repeats_a_childs_text_ends_that_child() -> None:
    speaking = ask(TurnStart(turn=1), AssistantText(text="x"), TurnStart(turn=1), AssistantText(text="y"))
    events = said(*CALLS, *speaking, result("b", "x"), result("a", "y"))
    assert [(event["subagentRunId"], event["result"]) for event in of_type("SUBAGENT_FINISHED", events)] == [
        ("r1-ask", "x"),
        ("r1-ask-2", "y"),
    ]


def test_last_result_ends_the_children_that_no_result_was_like() -> None:
    running = ask(TurnStart(turn=1), TurnStart(turn=1))
    events = said(*CALLS, *running, result("a", "p"), result("b", "q"))
    assert len(of_type("SUBAGENT_FINISHED", events)) == 2
    assert all("result" not in event for event in of_type("SUBAGENT_FINISHED", events))


@pytest.mark.parametrize("failed", ["a", "b"])
def test_failure_that_may_be_any_childs_is_taken_for_everyones(failed: str) -> None:
    results = [result(id, is_error=id == failed) for id in "ab"]
    events = said(*CALLS, *ask(TurnStart(turn=1), TurnStart(turn=1)), *results, FINISHED)
    assert len(of_type("SUBAGENT_ERROR", events)) == 2
    assert not of_type("SUBAGENT_FINISHED", events)


def test_failure_of_earlier_calls_is_not_held_against_later_children() -> None:
    first = [*CALLS, *ask(TurnStart(turn=1), TurnStart(turn=1)), result("a", is_error=True), result("b")]
    second = [call("c"), call("d"), *ask(TurnStart(turn=1), TurnStart(turn=1)), result("c"), result("d")]
    events = said(*first, *second)
    assert [len(of_type(kind, events)) for kind in ("SUBAGENT_ERROR", "SUBAGENT_FINISHED")] == [2, 2]


def test_failing_tool_without_a_run_inside_fails_nobody() -> None:
    plain: list[AgentEvent] = [call("x"), result("x", is_error=True)]
    events = said(*plain, *CALLS, *ask(TurnStart(turn=1), TurnStart(turn=1)), result("a"), result("b"))
    assert not of_type("SUBAGENT_ERROR", events)


def test_what_a_result_overtook_is_still_the_childs() -> None:
    events = said(call("c"), *ask(piece("a")), result("c"), *ask(piece("b")))
    assert texts(events) == {"r1-ask": "ab"}


def test_call_that_waits_after_another_was_answered_has_a_child_of_its_own() -> None:
    events = said(*CALLS, *nest("ask", "a", piece("a")), *ask(piece("b")), result("b"), call("c"), *ask(piece("c")))
    assert texts(events) == {"r1-ask": "a", "r1-ask-2": "b", "r1-ask-3": "c"}
    assert [event["parentToolCallId"] for event in of_type("SUBAGENT_STARTED", events)] == ["a", "b", "c"]


def test_call_whose_child_is_done_waits_behind_those_that_had_none() -> None:
    events = said(*CALLS, *nest("ask", "a", FINISHED), *ask(piece("b"), FINISHED, piece("c")))
    started = of_type("SUBAGENT_STARTED", events)
    # Both calls have had a child when the third comes: it is one more run of either, and not said to be of one.
    assert [event.get("parentToolCallId") for event in started] == ["a", "b", None]


def test_second_run_of_an_only_call_is_linked_to_it() -> None:
    events = said(call("c"), *ask(piece("a"), FINISHED, piece("b")))
    assert [event["parentToolCallId"] for event in of_type("SUBAGENT_STARTED", events)] == ["c", "c"]


def test_children_of_two_tools_do_not_mix() -> None:
    pieces = [*nest("ask", None, piece("a")), *nest("tell", None, piece("b")), *nest("ask", None, piece("a"))]
    assert texts(said(*pieces)) == {"r1-ask": "aa", "r1-tell": "b"}
