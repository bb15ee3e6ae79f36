"""The compatibility table of the README, generated from the table of downgrades: `python -m tests.readme` writes it."""

import re
from pathlib import Path

from agui_middleware.downgrades import DOWNGRADES

README = Path(__file__).parent.parent / "README.md"
_TABLE = re.compile(r"(?<=<!-- downgrades -->\n).*(?=<!-- /downgrades -->)", re.DOTALL)


def compatibility_table() -> str:
    """The rows of `DOWNGRADES` in Markdown."""
    rows = [f"| {row.since} | {row.name} | {row.why} | {row.lost or 'nothing'} |\n" for row in DOWNGRADES]
    return "".join(["| read from | shape | a release before that … | lost |\n", "|---|---|---|---|\n", *rows])


def with_table(readme: str) -> str:
    """The README with the table as it should be."""
    table = compatibility_table()
    return _TABLE.sub(lambda _: table, readme)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
