import json

import pytest

from agui_middleware import rewrite
from tests.downgrades.cases import events_of
from tests.downgrades.minimal import Json

USER: Json = {"id": "u", "role": "user", "content": "Grüße"}


def escaped(event: Json, word: str) -> bytes:
    """An event in which the word is spelled in escapes, as no serialiser would and every client reads."""
    spelled = "".join(f"\\u{ord(letter):04x}" for letter in word)
    return f"data: {json.dumps(event).replace(word, spelled)}\n\n".encode()


@pytest.mark.parametrize(
    ("release", "word", "message"),
    [
        ("0.0.44", "reasoning", {"id": "x", "role": "reasoning", "content": ""}),
        ("0.0.40", "activity", {"id": "x", "role": "activity", "activityType": "PLAN", "content": {}}),
    ],
)
def test_a_word_in_escapes_is_read(release: str, word: str, message: Json) -> None:
    stream = escaped({"type": "MESSAGES_SNAPSHOT", "messages": [USER, message]}, word)
    assert word.encode() not in stream
    assert events_of(rewrite(stream, client=release)) == [{"type": "MESSAGES_SNAPSHOT", "messages": [USER]}]


def test_a_member_in_escapes_is_read() -> None:
    typed = {**USER, "encryptedValue": "x", "encryptedValueType": "y"}
    stream = escaped({"type": "MESSAGES_SNAPSHOT", "messages": [typed]}, "encryptedValueType")
    assert events_of(rewrite(stream, client="1.0.0"))[0]["messages"] == [{**USER, "encryptedValue": "x"}]


def test_other_escapes_change_nothing() -> None:
    stream = escaped({"type": "MESSAGES_SNAPSHOT", "messages": [USER]}, "ü")
    assert b"\\u00fc" in stream
    assert rewrite(stream, client="1.0.0") == stream
