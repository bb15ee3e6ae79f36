"""The compatibility table of the README, generated from the table of downgrades: `python -m tests.readme` writes it."""

import re
from pathlib import Path

from agui_middleware.client import ClientVersion
from agui_middleware.downgrades import DOWNGRADES, Downgrade

README = Path(__file__).parent.parent / "README.md"
_TABLE = re.compile(r"(?<=<!-- downgrades -->\n).*(?=<!-- /downgrades -->)", re.DOTALL)


def compatibility_table() -> str:
    """The rows of `DOWNGRADES` in Markdown, newest shape first."""
    rows = sorted(DOWNGRADES, key=lambda row: ClientVersion.parse(row.since), reverse=True)
    lines = [f"| {_releases(row)} | {row.name} | {row.why} | {row.lost or 'nothing'} |\n" for row in rows]
    return "".join(["| releases | shape | such a release … | lost |\n", "|---|---|---|---|\n", *lines])


def _releases(row: Downgrade) -> str:
    return f"before {row.since}" + ("" if row.oldest == "0.0.0" else f", from {row.oldest} on")


def with_table(readme: str) -> str:
    """The README with the table as it should be."""
    table = compatibility_table()
    return _TABLE.sub(lambda _: table, readme)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
