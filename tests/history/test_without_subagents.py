"""The mirror of `hidden`, on the way in."""

import json

import pytest

from agui_middleware.history.without_subagents import history_without_subagents
from agui_middleware.protocol.posted import Posted
from tests.history.threads import ids, posted
from tests.notation import Json, message


def kept(*messages: Json) -> list[str]:
    read = Posted.read(posted(list(messages)))
    assert read is not None
    after: list[Json] = json.loads(history_without_subagents(read).raw)["messages"]
    return ids(after)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ("u:user a@s b", "u b"),
        ("a+c@s t:tool=c b", "b"),
        ("a+c t:tool=c@s b", "a t b"),
        ("a+c@s b+d t:tool=d", "b t"),
        ("t:tool=c@s t:tool=d", "t"),
        ("a+c@s b+c t:tool=c", "b"),
        ("a b", "a b"),
    ],
)
def test_messages_that_subagents_own_go_with_the_results_of_their_calls(messages: str, expected: str) -> None:
    assert kept(*map(message, messages.split())) == expected.split()


@pytest.mark.parametrize("tag", ["s", "", 1, {}, []])
def test_a_tag_of_any_type_counts(tag: object) -> None:
    assert kept({"id": "m", "role": "assistant", "content": "x", "subagentRunId": tag}) == []


def test_null_is_no_tag() -> None:
    assert kept({"id": "m", "role": "assistant", "content": "x", "subagentRunId": None}) == ["m"]


def test_a_word_in_a_text_is_no_tag_and_changes_nothing() -> None:
    read = Posted.read(posted([{"id": "m", "role": "user", "content": "subagentRunId", "x": {"subagentRunId": "s"}}]))
    assert read is not None
    assert history_without_subagents(read) is read
    plain = Posted.read(posted([{"id": "m", "role": "user", "content": "a"}]))
    assert plain is not None
    assert history_without_subagents(plain) is plain


def test_what_is_no_message_stays() -> None:
    read = Posted.read(b'{"threadId":"t","runId":"r","messages":[7,{"subagentRunId":"s"}]}')
    assert read is not None
    assert json.loads(history_without_subagents(read).raw)["messages"] == [7]
