"""The committed inputs of the fuzzer, each by itself, so that what it once reached stays proved without it."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.fuzz import CORPUS, HEADERS, TARGETS

INPUTS = [(target, path) for target in TARGETS for path in sorted((CORPUS / target).iterdir())]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("target", "path"), INPUTS, ids=[f"{target}-{path.name}" for target, path in INPUTS])
def test_an_input_of_the_corpus(target: str, path: Path) -> None:
    data = path.read_bytes()
    assert len(data) > HEADERS[target]
    TARGETS[target](data)


def test_the_corpus_is_small() -> None:
    assert sum(path.stat().st_size for _, path in INPUTS) < 1 << 20
