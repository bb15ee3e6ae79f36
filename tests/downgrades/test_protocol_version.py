import pytest

from tests.downgrades.minimal import FINISHED, STARTED, made


@pytest.mark.parametrize(
    ("client", "declared", "translated"),
    [
        ("1.1.0", "1.1", "1.1"),
        ("1.0.0", "1.1", "1.0"),
        ("1.0.0", "1.0", "1.0"),
        ("1.0.0", "2.0", "2.0"),
        ("1.0.0", 1.1, 1.1),
        ("0.0.59", "1.1", None),
        ("0.0.59", "1.0", None),
    ],
)
def test_a_stream_declares_what_it_was_translated_to(client: str, declared: object, translated: object) -> None:
    version = {} if translated is None else {"protocolVersion": translated}
    assert made(client, {**STARTED, "protocolVersion": declared}, FINISHED) == [{**STARTED, **version}, FINISHED]
