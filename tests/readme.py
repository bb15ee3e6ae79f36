"""The compatibility table of the README, generated from the table of downgrades: `python -m tests.readme` writes it."""

import re
from pathlib import Path

from agui_middleware.downgrades import DOWNGRADES, Downgrade
from agui_middleware.protocol.releases import ClientVersion

README = Path(__file__).parent.parent / "README.md"
_TABLE = re.compile(r"(?<=<!-- downgrades -->\n).*(?=<!-- /downgrades -->)", re.DOTALL)


def compatibility_table() -> str:
    """The rows of `DOWNGRADES` in Markdown, newest shape first."""
    rows = sorted(DOWNGRADES, key=lambda row: ClientVersion.parse(row.fixed_in), reverse=True)
    lines = [f"| {_releases(row)} | {row.name} | {row.symptom} | {row.loss or 'nothing'} |\n" for row in rows]
    return "".join(["| releases | shape | such a release … | lost |\n", "|---|---|---|---|\n", *lines])


def _releases(row: Downgrade) -> str:
    return f"before {row.fixed_in}" + ("" if row.broken_since == "0.0.0" else f", from {row.broken_since} on")


def with_table(readme: str) -> str:
    """The README with the table as it should be."""
    table = compatibility_table()
    return _TABLE.sub(lambda _: table, readme)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
