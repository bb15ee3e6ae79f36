"""Answers to paused runs, from one dialect to the other: each decision of the README's section "Interrupts"."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from agui_middleware.history.answers import as_command, as_resume
from agui_middleware.history.open_interrupts import OpenInterrupts, interrupts_in, within
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.interrupt_dialects import OpenInterrupt, announcement, form_of, interrupts_of, opened
from agui_middleware.protocol.posted import Posted

NOW = datetime(2026, 12, 2, tzinfo=UTC)
Json = dict[str, Any]
ONE, TWO = OpenInterrupt("i"), OpenInterrupt("j")


def posted(**members: Any) -> Posted:
    input = {"threadId": "t", "runId": "r", "messages": [], "forwardedProps": {}, **members}
    read = Posted.read(json.dumps(input).encode())
    assert read is not None
    return read


def command(resume: Any, **more: Any) -> Posted:
    return posted(forwardedProps={"theme": "dark", "command": {"resume": resume, **more}})


def value_of(*interrupts: Json, place: int = 0) -> Any:
    """The value that a client was sent for one of several interrupts, as it echoes it."""
    event = Event("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": list(interrupts)})
    read = interrupts_of(event)
    assert read is not None
    return json.loads(announcement(read[place], [opened(each) for each in read]).raw)["value"]


def resume(input: Posted, *known: OpenInterrupt) -> Any:
    """The `resume` that the agent gets; `None`: none, and the input is as it was posted."""
    answered = as_resume(input, known, NOW)
    assert ("resume" in answered.posted.input) or answered.posted is input
    return json.loads(answered.posted.raw).get("resume")


def resolved(id: str, payload: Any) -> Json:
    return {"interruptId": id, "status": "resolved", "payload": payload}


def cancelled(id: str) -> Json:
    return {"interruptId": id, "status": "cancelled"}


def asks(id: str, **more: Any) -> Json:
    return {"id": id, "reason": "approval", **more}


RAISED = {"langgraph": {"raw": {"question": "Which?"}}}


@pytest.mark.parametrize("metadata", [{}, {"metadata": RAISED}])
def test_the_echo_tells_what_is_answered_without_a_store(metadata: Json) -> None:
    input = command("Rome", interruptEvent=value_of(asks("i", **metadata)))
    assert resume(input) == [resolved("i", "Rome")]


def test_without_an_echo_what_is_remembered_tells() -> None:
    assert resume(command({"ok": True}), ONE) == [resolved("i", {"ok": True})]


def test_with_neither_the_answer_stays_as_posted() -> None:
    input = command("Rome", interruptEvent="Which?")
    assert as_resume(input, [], NOW) == (input, True)


@pytest.mark.parametrize("props", [None, {}, {"command": 5}, {"command": {"update": {}}}])
def test_a_client_that_types_on_answers_nothing(props: Any) -> None:
    input = posted(forwardedProps=props)
    assert as_resume(input, [ONE], NOW) == (input, False)


def test_a_resume_of_the_standard_comes_first() -> None:
    input = posted(resume=[resolved("i", 1)], forwardedProps={"command": {"resume": 2}})
    assert as_resume(input, [ONE], NOW).posted is input
    empty = posted(resume=[], forwardedProps={"command": {"resume": 2}})
    assert resume(empty, ONE) == [resolved("i", 2)]


def test_all_else_that_is_forwarded_stays() -> None:
    after = as_resume(command(1, interruptEvent="e", note=1.0), [ONE], NOW).posted
    assert json.loads(after.raw)["forwardedProps"] == {"theme": "dark", "command": {"interruptEvent": "e", "note": 1.0}}
    assert json.loads(as_resume(command(1), [ONE], NOW).posted.raw)["forwardedProps"] == {"theme": "dark"}


@pytest.mark.parametrize(
    ("answer", "payload"),
    [
        ('{"approved":true}', {"approved": True}),
        ('"Rome"', "Rome"),
        ("Rome", "Rome"),
        ("5", 5),
        ("null", "null"),
        ("", ""),
        (False, False),
        (12345678901234567890123, 12345678901234567890123),
    ],
)
def test_an_answer_in_a_string_is_read_as_ag_ui_langgraph_reads_it(answer: Any, payload: Any) -> None:
    assert resume(command(answer), ONE) == [resolved("i", payload)]


def test_one_answer_to_several_is_the_named_ones_and_the_others_are_cancelled() -> None:
    echo = value_of(asks("i"), asks("j"))
    assert resume(command("yes", interruptEvent=echo)) == [cancelled("j"), resolved("i", "yes")]
    assert resume(command("yes", interruptEvent=echo), ONE, TWO) == [resolved("i", "yes"), cancelled("j")]


def test_without_a_name_one_answer_to_several_is_that_of_the_last() -> None:
    assert resume(command("yes"), ONE, TWO) == [cancelled("i"), resolved("j", "yes")]


def test_two_interrupts_of_one_id_get_one_answer() -> None:
    assert resume(command("yes"), TWO, ONE, TWO) == [cancelled("i"), resolved("j", "yes")]
    assert resume(command("yes", interruptEvent=value_of(asks("i"), asks("i")))) == [resolved("i", "yes")]


def test_an_answer_by_ids_answers_each() -> None:
    assert resume(command({"i": 1, "j": 2}), ONE, TWO) == [resolved("i", 1), resolved("j", 2)]
    assert resume(command({"j": 2}), ONE, TWO) == [cancelled("i"), resolved("j", 2)]
    assert resume(command({"j": 2, "else": 3}), ONE, TWO) == [cancelled("i"), resolved("j", {"j": 2, "else": 3})]


def test_an_echo_that_fits_none_of_several_answers_none() -> None:
    input = command("yes", interruptEvent="Pay …?")
    known = [OpenInterrupt("i", form=form_of("Pay 10?")), OpenInterrupt("j", form=form_of("Pay 20?"))]
    assert as_resume(input, known, NOW) == (input, True)
    assert resume(input, known[0]) == [resolved("i", "yes")]


def test_null_cancels() -> None:
    assert resume(command(None), ONE, TWO) == [cancelled("i"), cancelled("j")]


@pytest.mark.parametrize(
    ("expires_at", "is_expired"),
    [
        ("2026-12-01T23:59:59Z", True),
        ("2026-12-02T00:00:00", True),
        ("2026-12-02T00:00:01+00:00", False),
        ("tomorrow", False),
        ("\ud800", False),
        (None, False),
    ],
)
def test_an_expired_interrupt_is_only_cancelled(expires_at: str | None, is_expired: bool) -> None:
    wanted = [cancelled("i") if is_expired else resolved("i", "yes")]
    assert resume(command("yes"), OpenInterrupt("i", expires_at)) == wanted
    echo = value_of(asks("i", **({} if expires_at is None else {"expiresAt": expires_at})))
    assert resume(command("yes", interruptEvent=echo)) == wanted


def test_an_expired_one_among_the_others_is_cancelled_too() -> None:
    echo = value_of(asks("i"), asks("j", expiresAt="2026-01-01T00:00:00Z"))
    assert resume(command({"i": 1, "j": 2}, interruptEvent=echo)) == [cancelled("j"), resolved("i", 1)]


def test_an_agents_own_announcement_is_recognised_by_its_value_or_call() -> None:
    by_value, by_call = OpenInterrupt("i", form=form_of({"question": "Which?"})), OpenInterrupt("j", call="c")
    for echo in ({"question": "Which?"}, '{"question": "Which?"}'):
        assert resume(command(1, interruptEvent=echo), by_value, by_call) == [resolved("i", 1), cancelled("j")]
    assert resume(command(1, interruptEvent={"toolCallId": "c"}), by_call, ONE) == [resolved("j", 1), cancelled("i")]


def test_the_store_counts_before_the_client_unless_it_does_not_know_the_interrupt() -> None:
    echo = value_of(asks("i"), asks("j"))
    assert resume(command(1, interruptEvent=echo), ONE) == [resolved("i", 1)]
    assert resume(command(1, interruptEvent=echo), OpenInterrupt("k")) == [cancelled("j"), resolved("i", 1)]


@pytest.mark.parametrize(
    "others", [5, [5, {"id": 6}], [{"id": "i"}], None], ids=["no list", "no interrupts", "itself", "null"]
)
def test_an_echo_that_was_tampered_with_answers_what_it_names(others: Any) -> None:
    echo = {"aguiInterrupt": {"id": "i", "others": others}}
    assert resume(command(1, interruptEvent=echo)) == [resolved("i", 1)]


def test_a_replayed_answer_is_translated_alike() -> None:
    input = command("Rome", interruptEvent=value_of(asks("i")))
    assert resume(input) == resume(input) == resume(input, OpenInterrupt("later")) == [resolved("i", "Rome")]


def commanded(*entries: Any, known: list[OpenInterrupt] | None = None, **members: Any) -> Any:
    """The `command` that an agent of the older dialect gets; `resume` goes."""
    input = posted(resume=list(entries), **members)
    after = as_command(input, known or [])
    assert ("resume" in after.input) == (after is input)
    return json.loads(after.raw)["forwardedProps"].get("command")


def test_the_payload_is_the_answer_of_the_older_dialect() -> None:
    assert commanded(resolved("i", {"n": 1.0})) == {"resume": {"n": 1.0}}
    assert commanded(resolved("i", 1), forwardedProps=None) == {"resume": 1}
    assert commanded(resolved("i", 1), forwardedProps={"command": {"note": 1}}) == {"note": 1, "resume": 1}


@pytest.mark.parametrize("more", [{}, {"payload": None}])
def test_an_answer_without_a_payload_is_an_empty_object(more: Json) -> None:
    assert commanded({"interruptId": "i", "status": "resolved", **more}) == {"resume": {}}


def test_a_cancelled_one_and_several_have_the_forms_of_ag_ui_langgraph() -> None:
    assert commanded(cancelled("i")) == {"resume": {"__agui_cancelled__": True, "interrupt_id": "i"}}
    answers = {"i": {"status": "resolved", "payload": 1}, "j": {"status": "cancelled"}}
    assert commanded(resolved("i", 1), cancelled("j")) == {"resume": {"__agui_resume_map__": answers}}


def test_the_value_that_the_agent_has_announced_comes_back() -> None:
    known = [TWO, OpenInterrupt("i", value=b'{"type":"mastra_suspend"}')]
    assert commanded(resolved("i", 1), known=known) == {"resume": 1, "interruptEvent": {"type": "mastra_suspend"}}
    assert commanded(resolved("i", 1), resolved("j", 1), known=known).keys() == {"resume"}


@pytest.mark.parametrize("entries", [(), (5,), ({"status": "resolved"},), (resolved("i", 1), 5)])
def test_a_resume_that_is_none_stays(entries: Any) -> None:
    assert commanded(*entries) is None


def test_an_answer_in_both_dialects_stays() -> None:
    assert commanded(resolved("i", 1), forwardedProps={"command": {"resume": 2}}) == {"resume": 2}


def ended(outcome: Any = None, type: str = "RUN_FINISHED") -> Event:
    return Event(type, **({} if outcome is None else {"outcome": outcome}))


def left_open(*ends: Event) -> list[OpenInterrupt] | None:
    followed = OpenInterrupts("custom")
    for end in ends:
        followed.agent_sent(end)
    return followed.open


def test_what_a_response_leaves_open() -> None:
    asking = ended({"type": "interrupt", "interrupts": [asks("i", toolCallId="c", expiresAt="later")]})
    wanted = [OpenInterrupt("i", "later", "", "c")]
    assert left_open() is None
    assert left_open(asking) == wanted
    assert left_open(asking, ended(type="RUN_ERROR")) == wanted
    assert left_open(asking, ended()) == []


def test_values_that_are_not_utf_8_are_stored_too() -> None:
    interrupt = b'{"id":"i","metadata":{"on_interrupt":{"a":"\xff"}}}'
    end = Event.parse(b'{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[%b]}}' % interrupt)
    assert interrupts_in(within(left_open(end) or [], 1000)) == [ONE._replace(value='{"a":"\ufffd"}'.encode())]


def test_interrupts_are_stored_and_read_again() -> None:
    full = OpenInterrupt("i", "later", "form", "c", b'{"a":1}')
    assert interrupts_in(json.loads(json.dumps(within([full, TWO], 1000)))) == [full, TWO]
    assert interrupts_in(within([full, TWO], 80)) == [full._replace(value=b""), TWO]
    assert interrupts_in(within([full, TWO], 15)) == [TWO]
    assert within([full, TWO], 0) == []
    odd = [OpenInterrupt("\ud800", "\ud800"), OpenInterrupt("")]
    assert interrupts_in(within(odd, 1000)) == odd


@pytest.mark.parametrize("stored", [None, 5, [5], [{"form": "x"}], [{"id": 5}], [{"id": "i", "call": 5}]])
def test_what_is_no_interrupt_is_not_read(stored: Any) -> None:
    assert interrupts_in(stored) == []


def test_a_large_value_is_not_kept() -> None:
    event = ended({"type": "interrupt", "interrupts": [asks("i", metadata={"on_interrupt": "x" * 20_000})]})
    assert left_open(event) == [ONE]
