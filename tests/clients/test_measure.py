from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.clients import measure
from tests.clients.client import Client
from tests.clients.corpus import PATH, Corpus

StartClient = Callable[[str], Client]


def rewrite_letters(path: Path, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> dict[str, str]:
    """Change the letters of each case on disk; the names of the cases by the letter 0.0.58 truly has."""
    corpus = Corpus.load(path)
    cases = tuple(type(case)(case.record, change(case.letters)) for case in corpus.cases)
    Corpus(corpus.releases, cases).dump(path)
    return {case.letters["0.0.58"]: case.name for case in corpus.cases}


@pytest.fixture
def few_cases(tmp_path: Path) -> Path:
    """A corpus of three cases that 0.0.58 ends in three ways."""
    corpus = Corpus.load()
    ways = {case.letters["0.0.58"]: case for case in reversed(corpus.cases)}
    assert set(ways) == {".", "d", "X"}
    path = tmp_path / "corpus.json"
    Corpus(corpus.releases, tuple(ways.values())).dump(path)
    return path


def test_corpus_is_written_as_it_was_read(tmp_path: Path) -> None:
    Corpus.load().dump(tmp_path / "corpus.json")
    assert (tmp_path / "corpus.json").read_bytes() == PATH.read_bytes()


def test_committed_matrix_is_what_0_0_58_does(client: StartClient, capsys: pytest.CaptureFixture[str]) -> None:
    client("0.0.58")
    assert measure.main(["--release", "0.0.58"]) == 0
    assert capsys.readouterr().out.count("0 changed") == 2


def test_measure_names_the_case_that_changed(
    client: StartClient, few_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client("0.0.58")
    tampered = rewrite_letters(few_cases, lambda letters: {**letters, "0.0.58": "d"})
    assert measure.main(["--release", "0.0.58"], few_cases) == 1
    out = capsys.readouterr().out
    assert f"0.0.58 {tampered['.']}: d is now .\n" in out
    assert f"0.0.58 {tampered['X']}: d is now X Cannot send event type 'RUN_STARTED'" in out
    assert tampered["d"] not in out


def test_measure_adds_the_row_of_a_new_release(
    client: StartClient, few_cases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client("0.0.58")
    before = few_cases.read_bytes()
    corpus = Corpus.load(few_cases)
    known = tuple(release for release in corpus.releases if release != "0.0.58")
    Corpus(known, corpus.cases).dump(few_cases)
    assert measure.main(["--release", "0.0.58", "--matrix"], few_cases) == 1
    assert "new" in capsys.readouterr().out
    assert measure.main(["--release", "0.0.58", "--write"], few_cases) == 0
    assert few_cases.read_bytes() == before
