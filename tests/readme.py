"""The table in `agui_middleware/downgrades/README.md`, generated from the rows: `python -m tests.readme` writes it."""

import re
from pathlib import Path

from agui_middleware.downgrades import DOWNGRADES, Downgrade
from agui_middleware.protocol.releases import ClientVersion

README = Path(__file__).parent.parent / "README.md"
DOWNGRADES_PAGE = README.parent / "agui_middleware" / "downgrades" / "README.md"
_TABLE = re.compile(r"(?<=<!-- downgrades -->\n).*(?=<!-- /downgrades -->)", re.DOTALL)


def downgrades_table() -> str:
    """The rows of `DOWNGRADES` in Markdown, those of the newest release first."""
    rows = sorted(DOWNGRADES, key=lambda row: ClientVersion.parse(row.fixed_in), reverse=True)
    head = "| releases | feature | such a release … | rewritten | lost | the conversation ends … |\n"
    return head + "|---" * 6 + "|\n" + "".join(map(_line, rows))


def _line(row: Downgrade) -> str:
    releases = f"before {row.fixed_in}" + ("" if row.broken_since == "0.0.0" else f", from {row.broken_since} on")
    differences = "; ".join(row.differences) or "the same"
    rewritten = "yes" if row.rewrites else "no"
    return f"| {releases} | {row.name} | {row.symptom} | {rewritten} | {row.loss or 'nothing'} | {differences} |\n"


def with_table(page: str) -> str:
    """The page with the table as it should be."""
    table = downgrades_table()
    return _TABLE.sub(lambda _: table, page)


if __name__ == "__main__":
    DOWNGRADES_PAGE.write_text(with_table(DOWNGRADES_PAGE.read_text()))
