"""Comparison of the members of messages that come from several sides."""

import json
from typing import Any, Final

from msgspec import Raw

from agui_middleware.history.record import ABSENT
from agui_middleware.protocol.json_object import JsonObject, decode, encode

Flat = dict[str, Any]
"""The members of a message or call by name; of a call, those of its function as `function.name` and so on."""
_FUNCTION: Final = "function."
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})


def flat_message(raw: Raw) -> Flat:
    """Return the members of a message, without its calls."""
    members = dict(JsonObject.of(bytes(raw)).members())
    members.pop("toolCalls", None)
    return members


def flat_call(call: JsonObject) -> Flat:
    """Return the members of a call."""
    function = call.get_object("function")
    members = dict(call.members())
    if function is None:
        return members
    del members["function"]
    return members | {f"{_FUNCTION}{name}": value for name, value in function.members().items()}


def with_members(before: JsonObject, changes: dict[str, bytes]) -> JsonObject:
    """Return a message with members changed; `ABSENT` removes one."""
    members = dict(before.members())
    for name, value in changes.items():
        if value == ABSENT:
            members.pop(name, None)
        else:
            members[name] = Raw(value)
    return JsonObject(members)


def with_call_members(before: JsonObject, changes: dict[str, bytes]) -> JsonObject:
    """Return a call with flat members changed; `ABSENT` removes one."""
    after = with_members(before, {name: value for name, value in changes.items() if not name.startswith(_FUNCTION)})
    inner = {name.removeprefix(_FUNCTION): value for name, value in changes.items() if name.startswith(_FUNCTION)}
    function = before.get_object("function")
    return after.replace(function=with_members(function, inner)) if function is not None and inner else after


def as_bytes(value: Any) -> bytes:
    """Encode a member as JSON; `ABSENT` for `None`, which means an absent member."""
    if value is None:
        return ABSENT
    return bytes(value) if type(value) is Raw else encode(value)


def same(one: bytes, other: bytes) -> bool:
    """Whether two members are equal."""
    return one == other or (ABSENT not in (one, other) and normal(one) == normal(other))


def alike(one: bytes, other: bytes) -> bool:
    """Whether two members are equal, or both empty: releases leave out, or add, what is empty."""
    return same(one, other) or (_value(one) in _EMPTY and _value(other) in _EMPTY)


def normal(raw: bytes) -> str:
    """Normalise a member: equal values give equal texts."""
    return json.dumps(_value(raw), sort_keys=True, default=repr)  # as text, since Python takes True for 1


def _value(raw: bytes) -> Any:
    return None if raw == ABSENT else decode(raw, "a member of the history")


def text_of(raw: bytes) -> str | None:
    """Return a member that is a string; an absent one is empty, `None` for any other type."""
    value = _value(raw)
    return "" if value is None else value if isinstance(value, str) else None
