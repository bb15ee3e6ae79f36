import pytest

from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_elements, edit_interrupts, edit_messages, edit_object, messages_of

SNAPSHOT = Event.parse(b'{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"a","n":1.0},5,{"id":"b","n":1.50},null]}')
ECHO = Event.parse(b'{"type":"RUN_STARTED","input":{"state":1.0,"messages":[{"id":"a"},{"id":"b"}]}}')


def leave(value: JsonObject) -> JsonObject:
    return value


def drop_a(value: JsonObject) -> JsonObject | None:
    return None if value["id"] == "a" else value


def mark(value: JsonObject) -> JsonObject:
    return value.replace(x=True)


def test_an_event_in_which_nothing_was_edited_is_the_same_object() -> None:
    assert edit_messages(SNAPSHOT, leave) is SNAPSHOT
    assert edit_messages(ECHO, leave) is ECHO


def test_messages_are_taken_out_and_put_in_and_the_others_keep_their_bytes() -> None:
    assert (
        edit_messages(SNAPSHOT, drop_a).raw == b'{"type":"MESSAGES_SNAPSHOT","messages":[5,{"id":"b","n":1.50},null]}'
    )
    assert edit_messages(ECHO, mark).raw == (
        b'{"type":"RUN_STARTED","input":{"state":1.0,"messages":[{"id":"a","x":true},{"id":"b","x":true}]}}'
    )


@pytest.mark.parametrize(
    "raw",
    [
        b'{"type":"MESSAGES_SNAPSHOT"}',
        b'{"type":"MESSAGES_SNAPSHOT","messages":null}',
        b'{"type":"MESSAGES_SNAPSHOT","messages":{"id":"a"}}',
        b'{"type":"RUN_STARTED"}',
        b'{"type":"RUN_STARTED","input":[{"id":"a"}]}',
        b'{"type":"RUN_STARTED","input":{"messages":"a"}}',
        b'{"type":"RUN_STARTED","messages":[{"id":"a"}]}',
    ],
)
def test_what_holds_no_messages_stays(raw: bytes) -> None:
    event = Event.parse(raw)
    assert edit_messages(event, drop_a) is event
    assert messages_of(event) is None


def test_messages_of() -> None:
    assert [message["id"] for message in messages_of(ECHO) or [] if isinstance(message, JsonObject)] == ["a", "b"]
    assert len(messages_of(SNAPSHOT) or []) == 4


def test_interrupts_are_edited_in_the_outcome() -> None:
    event = Event.parse(b'{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"a"},{"id":"b"}]}}')
    assert edit_interrupts(event, drop_a)["outcome"] == {"type": "interrupt", "interrupts": [{"id": "b"}]}
    assert edit_interrupts(SNAPSHOT, drop_a) is SNAPSHOT


def test_an_object_is_replaced_or_taken_out() -> None:
    holder = JsonObject.of(b'{"a":{"id":"a"},"n":1.0}')
    assert edit_object(holder, "a", mark).raw == b'{"a":{"id":"a","x":true},"n":1.0}'
    assert edit_object(holder, "a", drop_a).raw == b'{"n":1.0}'
    assert edit_object(holder, "n", drop_a) is edit_object(holder, "absent", drop_a) is holder


def test_elements_that_were_put_in_are_edited_like_any_other() -> None:
    event = SNAPSHOT.replace(messages=[{"id": "a"}, {"id": "b"}])
    assert edit_elements(event, "messages", drop_a)["messages"] == [{"id": "b"}]
