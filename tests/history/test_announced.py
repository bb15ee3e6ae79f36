"""What an agent has announced, next to what the client was given of it."""

from typing import Any

import pytest
from msgspec import Raw

from agui_middleware.history.announced import Announced
from agui_middleware.history.answers import with_announced_value
from agui_middleware.history.open_interrupts import OpenInterrupts, interrupts_in, within
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.interrupt_dialects import OpenInterrupt, form_of
from tests.history.test_answers import command, posted

Values = list[Any]


def custom(value: Any, name: str = "on_interrupt") -> Event:
    return Event("CUSTOM", name=name, value=value)


def changed(sent: Values, got: Values) -> dict[str, bytes]:
    """What comes back, by the form of what the client got."""
    followed = Announced()
    for value in sent:
        followed.agent_sent(custom(value))
    for value in got:
        followed.client_got(custom(value))
    return {each.form: each.value for each in followed.changed()}


@pytest.mark.parametrize(
    ("sent", "got", "masked", "original"),
    [
        (["a1"], ["a…"], "a…", b'"a1"'),
        (["a1", "b"], ["b", "a…"], "a…", b'"a1"'),
        ([{"toolCallId": "c", "a": 1}, "x"], [{"toolCallId": "c", "a": "…"}], {"toolCallId": "c", "a": "…"}, None),
        (["a1", "b2"], ["a…", "b…"], "b…", b'"b2"'),
        (["1"] * 16, ["…"] * 16, "…", b'"1"'),
    ],
)
def test_what_a_filter_has_changed_is_told_by_equality_then_by_call_then_by_place(
    sent: Values, got: Values, masked: Any, original: bytes | None
) -> None:
    original = b'{"toolCallId":"c","a":1}' if original is None else original
    assert changed(sent, got)[form_of(masked)] == original


@pytest.mark.parametrize(
    ("sent", "got"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a"], ['"a"']),
        ([None], [None]),
        (["a1", "b2"], ["…"]),
        (["a1"], ["…", "…"]),
        (["a1", "a2"], ["…", "…"]),
        (["1"] * 17, ["…"] * 17),
    ],
)
def test_where_nothing_has_changed_or_nothing_tells_nothing_comes_back(sent: Values, got: Values) -> None:
    assert changed(sent, got) == {}


def test_a_large_value_does_not_come_back() -> None:
    [value] = changed(["x" * 20_000], ["…"]).values()
    assert value == b""


@pytest.mark.parametrize("event", [custom("a", name="other"), custom(object()), custom(Raw(b"junk"))])
def test_what_is_no_announcement_is_passed_over(event: Event) -> None:
    followed = Announced()
    followed.agent_sent(event)
    followed.client_got(custom("…"))
    assert followed.changed() == []


def test_what_was_announced_alone_is_stored_as_long_as_there_is_room_for_its_value() -> None:
    followed = OpenInterrupts(None)
    followed.agent_sent(custom("a1"))
    followed.client_got(custom("a…"))
    assert followed.open is None
    followed.agent_sent(Event("RUN_FINISHED"))
    open: list[OpenInterrupt] = followed.open or []
    assert open == [OpenInterrupt("", form=form_of("a…"), value=b'"a1"')]
    assert interrupts_in(within(open, 1000)) == open
    assert within(open, 10) == []


def test_an_echo_of_something_else_stays() -> None:
    known = [OpenInterrupt("", form=form_of("a…"), value=b'"a1"')]
    for input in (command("yes"), command("yes", interruptEvent="b"), posted(), posted(forwardedProps=5)):
        assert with_announced_value(input, known) is input
    assert (
        with_announced_value(command("yes", interruptEvent="a…"), []).input["forwardedProps"]["command"][
            "interruptEvent"
        ]
        == "a…"
    )
