"""Measures what each release of @ag-ui/client makes of the corpus, and compares it with the committed matrix.

    python -m tests.clients.measure [--release RELEASE ...] [--matrix] [--write]

A new release is one line in package.json, `npm install --prefix tests/clients`, and this command with `--write`.
Without `--write` the command ends with status 1 when anything differs from what is committed.
"""

import os
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.clients.client import RELEASES, Client, NotInstalledError, Outcome, order
from tests.clients.corpus import PATH, REFERENCE, Case, Corpus

Outcomes = Mapping[str, list[Outcome]]
Matrix = Mapping[str, str]


def measure(cases: Sequence[Case], releases: Sequence[str]) -> Outcomes:
    """The outcome of every case on every release, and on the reference release. Raises NotInstalledError."""
    wanted = sorted({*releases, REFERENCE}, key=order)
    runs = [case.run for case in cases]

    def outcomes(release: str) -> list[Outcome]:
        with Client(release) as client:
            return client.read_many(runs)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(wanted, pool.map(outcomes, wanted), strict=True))


def letter(outcome: Outcome, reference: Outcome) -> str:
    """How a run ended next to the same run on the reference release; the letters are the corpus's."""
    if not outcome.accepted:
        return "X"
    if not reference.accepted:
        return "o"
    return "." if outcome.ends_like(reference) else "d"


def letters(outcomes: Outcomes) -> Matrix:
    """A letter a case, in the order of the cases, for each release measured."""
    reference = outcomes[REFERENCE]
    return {release: "".join(map(letter, ends, reference)) for release, ends in outcomes.items()}


def differences(corpus: Corpus, outcomes: Outcomes, matrix: Matrix) -> dict[str, list[str]]:
    """For each release that is in the committed matrix, a line a case that ended otherwise there."""
    return {
        release: [
            f"{release} {case.name}: {case.letters[release]} is now {now} {_brief(end.error)}".rstrip()
            for case, now, end in zip(corpus.cases, matrix[release], outcomes[release], strict=True)
            if now != case.letters[release]
        ]
        for release in matrix
        if release in corpus.releases
    }


def _brief(error: str | None) -> str:
    # The schemas' errors are documents of many lines, most of them white space.
    return " ".join((error or "").split())[:120]


def merged(corpus: Corpus, matrix: Matrix) -> Corpus:
    """The corpus with the measured letters in place of the committed ones; releases not measured keep theirs."""
    cases = [
        Case(case.record, {**case.letters, **{release: row[i] for release, row in matrix.items()}})
        for i, case in enumerate(corpus.cases)
    ]
    return Corpus(tuple(sorted({*corpus.releases, *matrix}, key=order)), tuple(cases))


def report(corpus: Corpus, matrix: Matrix, changed: Mapping[str, list[str]]) -> None:
    """A row a release: how many cases end in each way, and how many of them are not as committed."""
    print(f"{len(corpus.cases)} cases, compared with {REFERENCE}")
    print(f"{'release':<10}{'same':>6}{'differs':>9}{'rejected':>10}  committed")
    for release, row in matrix.items():
        count = Counter(row)
        verdict = f"{len(changed[release])} changed" if release in changed else "new"
        print(f"{release:<10}{count['.']:>6}{count['d'] + count['o']:>9}{count['X']:>10}  {verdict}")
    for lines in changed.values():
        print(*lines, sep="\n", end="\n" if lines else "")


def main(arguments: Sequence[str] | None = None, path: Path = PATH) -> int:
    parser = ArgumentParser(prog="python -m tests.clients.measure", description=__doc__.partition("\n")[0])
    parser.add_argument("--release", action="append", choices=RELEASES, help="measure this one; may be repeated")
    parser.add_argument("--matrix", action="store_true", help="print every case with a letter a release")
    parser.add_argument("--write", action="store_true", help="put the measured letters into corpus.json")
    options = parser.parse_args(arguments)
    corpus = Corpus.load(path)
    try:
        outcomes = measure(corpus.cases, options.release or RELEASES)
    except NotInstalledError as error:
        parser.error(str(error))
    matrix = letters(outcomes)
    changed = differences(corpus, outcomes, matrix)
    if options.write:
        merged(corpus, matrix).dump(path)
    report(corpus, matrix, changed)
    if options.matrix:
        for case, *row in zip(corpus.cases, *matrix.values(), strict=True):
            print("".join(row), case.name)
    return int(not options.write and (any(changed.values()) or len(changed) < len(matrix)))


if __name__ == "__main__":
    sys.exit(main())
