"""The tables of the READMEs, generated from the tables in the code: `python -m tests.readme` writes them."""

import re
from pathlib import Path

from agui_middleware.downgrades import DOWNGRADES, Downgrade
from agui_middleware.filters.hiding import OTHER, POLICIES, Decision, Policy
from agui_middleware.protocol.releases import ClientVersion

README = Path(__file__).parent.parent / "README.md"
DOWNGRADES_PAGE = README.parent / "agui_middleware" / "downgrades" / "README.md"
FILTERS = README.parent / "agui_middleware" / "filters" / "README.md"
_TABLE = re.compile(r"(?<=<!-- downgrades -->\n).*(?=<!-- /downgrades -->)", re.DOTALL)
_POLICIES = re.compile(r"(?<=<!-- hidden -->\n).*(?=<!-- /hidden -->)", re.DOTALL)


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


def policy_table() -> str:
    """What `hidden` decides, in Markdown: types that are treated alike share a line."""
    alike: dict[Policy, list[str]] = {}
    for type, policy in POLICIES.items():
        alike.setdefault(policy, []).append(type)
    lines = [
        f"| {_names(types, policy)} | {_with_tag(policy)} | {_without_tag(policy)} |\n"
        for policy, types in alike.items()
    ]
    return "".join(["| event | with a subagent's tag | without a tag |\n", "|---|---|---|\n", *lines])


def _names(types: list[str], policy: Policy) -> str:
    return ", ".join([*types, *(["types from after 1.1"] if policy == OTHER else [])])


def _with_tag(policy: Policy) -> str:
    listed = ", ".join(f"`{member}`" for member in policy.listed).replace("`message`", "a `message` of our own")
    match policy.tagged:
        case Decision.LISTED:
            return f"kept: {listed}"
        case Decision.BY_CALL:
            return f"{policy.tagged}; else kept: {listed}"
    return policy.tagged


def _without_tag(policy: Policy) -> str:
    return policy.untagged + (f" ({policy.searched})" if policy.searched else "")


def with_policies(page: str) -> str:
    """The page of the filters with the table as it should be."""
    table = policy_table()
    return _POLICIES.sub(lambda _: table, page)


if __name__ == "__main__":
    DOWNGRADES_PAGE.write_text(with_table(DOWNGRADES_PAGE.read_text()))
    FILTERS.write_text(with_policies(FILTERS.read_text()))
