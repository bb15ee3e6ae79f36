"""The objects that events carry inside: the messages of a snapshot and of an input echo, and the interrupts of a run.

An edit gives the object back to leave it, another one to put in its place, and `None` to take it out. An event in which
nothing was edited stays the very same object, and what is not an object, or not a list, stays as it is.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from msgspec import Raw

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.event_kind import Carries
from agui_middleware.protocol.event_types import types_that

_ECHOES = types_that(lambda kind: kind.carries is Carries.ECHO)
Holder = TypeVar("Holder", bound=JsonObject)
Edit = Callable[[JsonObject], JsonObject | None]


def messages_of(event: Event) -> list[JsonObject | Any] | None:
    """The messages of a MESSAGES_SNAPSHOT, or of a RUN_STARTED's `input`; `None` where there is no list of them."""
    holder = event.get_object("input") if event.type in _ECHOES else event
    return None if holder is None else holder.get_list("messages")


def calls_of(message: JsonObject | Any) -> Iterator[JsonObject]:
    """The tool calls that a message carries; none of what is no message."""
    if isinstance(message, JsonObject):
        yield from (call for call in message.get_list("toolCalls") or () if isinstance(call, JsonObject))


def edit_messages(event: Event, edit: Edit, *, containing: bytes | None = None) -> Event:
    """Edit the messages of a MESSAGES_SNAPSHOT, or of a RUN_STARTED's `input`; `containing` as in `edit_elements`."""
    if event.type not in _ECHOES:
        return edit_elements(event, "messages", edit, containing=containing)
    return edit_object(event, "input", lambda input: edit_elements(input, "messages", edit, containing=containing))


def edit_interrupts(event: Event, edit: Edit) -> Event:
    """Edit the interrupts in the `outcome` of a RUN_FINISHED."""
    return edit_object(event, "outcome", lambda outcome: edit_elements(outcome, "interrupts", edit))


def edit_object(holder: Holder, name: str, edit: Edit) -> Holder:
    """Edit the object that is the member `name`, if it is one."""
    before = holder.get_object(name)
    after = None if before is None else edit(before)
    if after is before:
        return holder
    return holder.without(name) if after is None else holder.replace(**{name: after})


def edit_elements(holder: Holder, name: str, edit: Edit, *, containing: bytes | None = None) -> Holder:
    """Edit the objects in the list that is the member `name`, if it is one.

    `containing`: only those in which this word may stand. Most messages of a large snapshot are then never looked into.
    """
    if containing is not None and not holder.may_contain(containing):
        return holder
    raws = None if containing is None or holder.has_escapes() else holder.get_raw_list(name)
    if raws is not None and containing is not None:
        return _edit_raw(holder, name, raws, containing, edit)
    before = holder.get_list(name)
    if before is None:
        return holder
    after = [edit(element) if isinstance(element, JsonObject) else element for element in before]
    if all(new is old for new, old in zip(after, before, strict=True)):
        return holder
    return holder.replace(**{name: [element for element in after if element is not None]})


def _edit_raw(holder: Holder, name: str, elements: list[Raw], word: bytes, edit: Edit) -> Holder:
    after: list[Raw | JsonObject | None] = [*elements]
    is_changed = False
    for place, element in enumerate(elements):
        raw = bytes(element)
        if raw.find(word) >= 0 and raw[:1] == b"{":
            before = JsonObject.of(raw)
            edited = edit(before)
            if edited is not before:
                after[place], is_changed = edited, True
    return holder.replace(**{name: [element for element in after if element is not None]}) if is_changed else holder
