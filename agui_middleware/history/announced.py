"""The values in which an agent of the older dialect announces interrupts, before and behind the filters.

A filter may mask them. A chat posts the value with its answer, as `interruptEvent`, and agents such as Mastra's read it
there.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Raw

from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.interrupt_dialects import MAX_VALUE, ON_INTERRUPT, OpenInterrupt, call_of, form_of
from agui_middleware.protocol.json_object import decode, encode

_MOST: Final = 16  # announcements of a response; where there are more, none is looked for


class _Value(NamedTuple):
    form: str
    call: str | None
    json: bytes  # empty: too large to be remembered


class Announced:
    """Follows the announcements of one response on both sides of the filters. No method raises for what the wire brings."""

    def __init__(self) -> None:
        self._sent: list[_Value] = []
        self._got: list[_Value] = []

    def agent_sent(self, event: Event) -> None:
        """Take a CUSTOM event as it came."""
        _note(event, self._sent)

    def client_got(self, event: Event) -> None:
        """Take a CUSTOM event as it leaves."""
        _note(event, self._got)

    def client_got_all(self, interrupts: Sequence[OpenInterrupt]) -> None:
        """Take the interrupts of an outcome that was made of announcements behind the filters."""
        values = (_read(each.value) for each in interrupts if each.value)
        self._got += list(values)[: _MOST + 1 - len(self._got)]

    def with_values(self, interrupts: Sequence[OpenInterrupt]) -> list[OpenInterrupt]:
        """Return the interrupts that came last to `client_got_all`, with the values that the agent has announced."""
        originals = self._originals()[::-1]
        found = []
        for each in reversed(interrupts):
            original = originals.pop(0) if each.value and originals else None
            found.append(each if original is None else each._replace(value=original.json))
        return found[::-1]

    def changed(self) -> list[OpenInterrupt]:
        """Return what the client got otherwise than the agent has sent it, by the form of what it got.

        Two values that a filter has made the same are left out: an answer could reach the wrong one.
        """
        found: dict[str, set[_Value | None]] = {}
        for got, original in zip(self._got, self._originals(), strict=True):
            found.setdefault(got.form, set()).add(original)
        only = ((form, originals.pop()) for form, originals in found.items() if form and len(originals) == 1)
        return [
            OpenInterrupt("", form=form, value=original.json)
            for form, original in only
            if original is not None and original.form != form
        ]

    def _originals(self) -> list[_Value | None]:
        """Return the value that the agent has announced for each that the client got; `None` where it is not known.

        The two are equal or name the same call. The others are paired in their order, if both sides have as many left.
        """
        if max(len(self._sent), len(self._got)) > _MOST:
            return [None] * len(self._got)
        left, found = list(self._sent), dict[int, _Value]()
        for key in (attrgetter("form"), attrgetter("call")):
            for place, got in enumerate(self._got):
                same = (each for each in left if key(got) and key(each) == key(got))
                if place not in found and (original := next(same, None)) is not None:
                    found[place] = original
                    left.remove(original)
        lacking = [place for place in range(len(self._got)) if place not in found]
        if len(lacking) == len(left):
            found |= zip(lacking, left, strict=True)
        return [found.get(place) for place in range(len(self._got))]


def _note(event: Event, values: list[_Value]) -> None:
    try:
        if event.get("name") == ON_INTERRUPT and len(values) <= _MOST:
            value = event.members().get("value")
            values.append(_read(bytes(value) if type(value) is Raw else encode(value)))
    except (MalformedEvent, TypeError):
        pass  # no client reads it, or a filter has put in what is not JSON


def _read(json: bytes) -> _Value:
    value = decode(json, "value")
    return _Value(form_of(value), call_of(value), json if len(json) <= MAX_VALUE else b"")
