from pathlib import Path

import pytest

from agui_middleware import ClientVersion
from agui_middleware.client import RELEASES
from agui_middleware.downgrades import DOWNGRADES, Downgrade, needed_by
from tests.downgrades.minimal import Json

HERE = Path(__file__).parent


def test_every_row_has_a_minimal_test() -> None:
    tests = "".join(path.read_text() for path in HERE.glob("test_*.py"))
    assert [row.name for row in DOWNGRADES if f'"{row.name}"' not in tests] == []


def test_rows_have_names_of_their_own() -> None:
    assert len({row.name for row in DOWNGRADES}) == len(DOWNGRADES)


@pytest.mark.parametrize("row", DOWNGRADES, ids=lambda row: row.name)
def test_a_row_begins_and_ends_with_a_release(row: Downgrade) -> None:
    """With one that there is, or one to come; and there is one that needs it."""
    since, oldest = ClientVersion.parse(row.since), ClientVersion.parse(row.oldest)
    assert since in RELEASES or since > RELEASES[-1]
    assert oldest in RELEASES or row.oldest == "0.0.0"
    assert any(row in needed_by(release) for release in RELEASES)


@pytest.mark.parametrize("row", DOWNGRADES, ids=lambda row: row.name)
def test_a_row_completes_its_sentences(row: Downgrade) -> None:
    """`why`: "a release before ... rejects ..."; `lost`: "lost: ..."."""
    for text in filter(None, (row.why, row.lost)):
        assert text[0].islower() or text[0] == "`"
        assert not text.endswith((".", " "))


OPENED: dict[str, list[Json]] = {
    "TEXT_MESSAGE_START": [{"messageId": "m", "role": "assistant"}],
    "TOOL_CALL_START": [{"toolCallId": "c", "toolCallName": "look"}],
}
