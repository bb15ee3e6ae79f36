"""Two turns of a thread of which the later one has not read the record of the earlier: see history/README.md.

A user stops a run and goes on within milliseconds; a user sends twice; two workers have a request each. Each case is
merged in both orders, since either record may be written first.
"""

from collections.abc import Callable

import pytest

from agui_middleware.history.record import Item, Kept, Member, next_stamp
from tests.history.test_merge import HIDDEN, of
from tests.history.threads import Thread, ids, user
from tests.strategies import Json

SAID: Json = {"id": "m1", "role": "assistant", "content": "a"}
STOPPED = "RS r; TS n1 @s; TC n1 secret; TE n1; TS m1; TC m1 a; TE m1"
ANSWERED = "RS r; TS n2 @s; TC n2 secret; TE n2; TS m2; TC m2 b; TE m2; RF r"

Order = Callable[[Kept, Kept], Kept]
ORDERS = [
    pytest.param(lambda first, second: first.merged(second), id="in order"),
    pytest.param(lambda first, second: second.merged(first), id="late"),
]
in_either_order = pytest.mark.parametrize("merged", ORDERS)


def beside(*held: Json, read: Kept | None = None) -> Thread:
    """The same thread in a request that has read `read` of its record."""
    thread = Thread("1.0.0", HIDDEN, held=list(held))
    thread.memory.kept = read
    return thread


def stopped(stream: str = STOPPED) -> Thread:
    """A run that the user stops: its record is written when the next turn has read what there was."""
    thread = beside(user("u1"))
    thread.run(stream)
    return thread


@in_either_order
def test_a_user_stops_a_run_and_goes_on(merged: Order) -> None:
    first, second = stopped(), beside(user("u1"), SAID, user("u2"))
    second.run(ANSWERED)
    second.held.append(user("u3"))
    given = second.given(kept=merged(first.kept, second.kept))
    assert ids(given) == ["u1", "n1", "m1", "u2", "n2", "m2", "u3"]
    assert of(given, "n1")["content"] == "secret"


@in_either_order
def test_a_user_stops_a_run_before_anything_is_shown_and_goes_on(merged: Order) -> None:
    first, second = stopped("RS r; TS n1 @s; TC n1 secret; TE n1"), beside(user("u1"), user("u2"))
    second.run(ANSWERED)
    second.held.append(user("u3"))
    assert ids(second.given(kept=merged(first.kept, second.kept))) == ["u1", "n1", "u2", "n2", "m2", "u3"]


@in_either_order
def test_a_subagent_that_was_at_work_behind_what_is_shown(merged: Order) -> None:
    first = stopped(f"{STOPPED}; TS late @s; TC late x; TE late")
    second = beside(user("u1"), SAID, user("u2"))
    second.run(ANSWERED)
    second.held.append(user("u3"))
    given = second.given(kept=merged(first.kept, second.kept))
    assert ids(given) == ["u1", "n1", "m1", "late", "u2", "n2", "m2", "u3"]


@in_either_order
def test_a_user_stops_a_run_and_has_the_question_answered_again(merged: Order) -> None:
    first, second = stopped(), beside(user("u1"))
    second.run(ANSWERED)
    second.held.append(user("u3"))
    assert ids(second.given(kept=merged(first.kept, second.kept))) == ["u1", "n2", "m2", "u3"]


@in_either_order
def test_both_answers_to_a_question_were_stopped_before_anything_was_shown(merged: Order) -> None:
    """The second one counts, whichever record is written first."""
    first, second = stopped("RS r; TS n1 @s; TC n1 x; TE n1"), beside(user("u1"))
    second.run("RS r; TS n2 @s; TC n2 x; TE n2")
    second.held.append(user("u2"))
    assert ids(second.given(kept=merged(first.kept, second.kept))) == ["u1", "n2", "u2"]


@in_either_order
def test_a_user_stops_a_run_and_edits_the_question(merged: Order) -> None:
    first, second = stopped(), beside(user("u1b"))
    second.run(ANSWERED)
    second.held.append(user("u3"))
    assert ids(second.given(kept=merged(first.kept, second.kept))) == ["u1b", "n2", "m2", "u3"]


@in_either_order
def test_a_question_that_is_sent_twice_and_whose_answers_are_both_held(merged: Order) -> None:
    first, second = stopped(), beside(user("u1"))
    second.run(ANSWERED)
    second.held = [user("u1"), SAID, *second.held[1:], user("u2")]
    assert sorted(ids(second.given(kept=merged(first.kept, second.kept)))) == ["m1", "m2", "n1", "n2", "u1", "u2"]


@in_either_order
def test_a_result_that_was_deleted_beside_another_turn_stays_deleted(merged: Order) -> None:
    first = Thread("0.0.54", held=[user("u1")])
    first.run("RS r; KS c m; KE c; TS a; TC a x; TE a; KR c t; TS b; TC b x; TE b; RF r")
    second = Thread("0.0.54", held=[user("v1")])
    second.run("RS r; KS d k; KE d; TS e; TC e x; TE e; KR d s; TS f; TC f x; TE f; RF r")
    held = [message for message in [*first.held, *second.held] if message["id"] not in ("t", "s")]
    second.held = [*held, user("u2")]
    given = ids(second.given(kept=merged(first.kept, second.kept)))
    assert "t" not in given
    assert "s" not in given


def test_what_a_later_turn_has_read_and_left_out_stays_out_though_the_earlier_one_writes_again() -> None:
    """The first response was read while it was still sent, and ends with a record of its own."""
    first = stopped()
    so_far = first.kept
    second = beside(user("u1"), read=so_far)
    second.run(ANSWERED)
    second.held.append(user("u3"))
    for kept in (first.kept.merged(second.kept, so_far), second.kept.merged(first.kept)):
        assert ids(second.given(kept=kept)) == ["u1", "n2", "m2", "u3"]


def test_a_turn_that_has_read_the_other_has_the_say_whatever_the_clocks_say() -> None:
    seen = next_stamp([])
    ahead = seen + 10**18
    assert next_stamp([seen]) > seen
    assert next_stamp([ahead, seen]) > ahead + 8, "a turn writes up to eight records, each with the next stamp"


def item(text: bytes, base: bytes = b'"x"') -> Item:
    return Item({"content": Member(text, [base])})


def test_what_a_response_has_left_alone_is_the_stores() -> None:
    """A hidden text went on meanwhile; the response has it as it was when it began."""
    read = Kept(items={"m": item(b'"a"')}, calls={"c": item(b'"a"')})
    store = Kept(items={"m": item(b'"ab"')}, calls={"c": item(b'"ab"')})
    left = Kept(items={"m": item(b'"a"', b'"y"'), "n": item(b'"n"')}, calls={"c": item(b'"a"')})
    merged = store.merged(left, read)
    assert (merged.items["m"], merged.calls["c"]) == (item(b'"ab"'), item(b'"ab"'))
    assert list(merged.items) == ["m", "n"]
    changed = Kept(items={"m": item(b'"ac"')})
    assert store.merged(changed, read).items["m"] == item(b'"ac"')
    assert Kept().merged(left, read) == left, "a store that lost the thread gets it back"


def test_what_the_store_has_as_it_was_read_gets_what_another_client_holds() -> None:
    read = Kept(items={"m": item(b'"a"')})
    [content] = read.merged(Kept(items={"m": item(b'"a"', b'"y"')}), read).items["m"].members.values()
    assert content.bases == [b'"y"', b'"x"']
