import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

NAMED: list[Json] = [
    STARTED,
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant", "name": "Ada"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
    FINISHED,
]


def test_a_name_is_kept_from_0_0_48_on(client: StartClient, caplog: pytest.LogCaptureFixture) -> None:
    row = Minimal(client, "names")
    assert "name" in row.original("0.0.48", *NAMED, run=False).messages[0]
    assert "name" not in row.original("0.0.47", *NAMED, run=False).messages[0]
    assert made("0.0.47", *NAMED) == NAMED
    assert losses(caplog, NAMED, "0.0.47") == ["names"]
    assert losses(caplog, NAMED, "0.0.48") == []
