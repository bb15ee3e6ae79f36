"""The members of messages and calls, by name."""

from agui_middleware.history.record import ABSENT
from agui_middleware.history.values import with_call_members
from agui_middleware.protocol.json_object import JsonObject, encode

CALL = JsonObject.of(b'{"id":"c","function":{"name":"search","arguments":"{}"},"encryptedValue":"e"}')


def test_members_of_a_calls_function_are_changed_inside_it() -> None:
    changed = with_call_members(CALL, {"function.arguments": b'"{\\"q\\":1}"', "encryptedValue": ABSENT})
    assert encode(changed) == b'{"id":"c","function":{"name":"search","arguments":"{\\"q\\":1}"}}'


def test_a_call_without_a_function_gets_none() -> None:
    changed = with_call_members(JsonObject.of(b'{"id":"c"}'), {"function.name": b'"search"', "encryptedValue": b'"e"'})
    assert encode(changed) == b'{"id":"c","encryptedValue":"e"}'
