"""The tables of the READMEs, generated from the tables in the code: `python -m tests.readme` writes them."""

import re
from pathlib import Path

from agui_middleware.config.readers import Reader, Sdk
from agui_middleware.config.sdk_versions import EVERY_SDK
from agui_middleware.config.sdks import SDKS
from agui_middleware.downgrades import DOWNGRADES, Downgrade, SdkRow
from agui_middleware.filters.hiding import OTHER, POLICIES, Decision, Policy
from agui_middleware.history.upgrade import STEPS
from agui_middleware.protocol.releases import ClientVersion

README = Path(__file__).parent.parent / "README.md"
DOWNGRADES_PAGE = README.parent / "agui_middleware" / "downgrades" / "README.md"
FILTERS = README.parent / "agui_middleware" / "filters" / "README.md"
CONFIG = README.parent / "agui_middleware" / "config" / "README.md"
_TABLE = re.compile(r"(?<=<!-- downgrades -->\n).*(?=<!-- /downgrades -->)", re.DOTALL)
_READERS = re.compile(r"(?<=<!-- readers -->\n).*(?=<!-- /readers -->)", re.DOTALL)
_NAMES = re.compile(r"(?<=<!-- names -->\n).*(?=<!-- /names -->)", re.DOTALL)
_POLICIES = re.compile(r"(?<=<!-- hidden -->\n).*(?=<!-- /hidden -->)", re.DOTALL)


def downgrades_table() -> str:
    """The rows of `DOWNGRADES` in Markdown, those of the newest release first."""
    rows = sorted(DOWNGRADES, key=lambda row: ClientVersion.parse(row.fixed_in), reverse=True)
    head = (
        "| releases | feature | such a release … | rewritten | lost | the conversation ends … | in what it posts … |\n"
    )
    return head + "|---" * 7 + "|\n" + "".join(map(_line, rows))


def _line(row: Downgrade) -> str:
    releases = f"before {row.fixed_in}" + ("" if row.broken_since == "0.0.0" else f", from {row.broken_since} on")
    differences = "; ".join(row.differences) or "the same"
    rewritten = "yes" if row.rewrites else "no"
    cells = (releases, row.name, row.symptom, rewritten, row.loss or "nothing", differences, _way_in(row))
    return f"| {' | '.join(cells)} |\n"


def _way_in(row: Downgrade | SdkRow) -> str:
    return "nothing changes" if row.upgrade is None else f"the middleware {STEPS[row.upgrade]}"


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


def readers_table() -> str:
    """The SDKs besides @ag-ui/client in Markdown: a line for each range of versions."""
    head = "| SDK | versions | reads like | rewritten besides | loses besides | in what it posts, besides | proof |\n"
    lines = [_reader_line(sdk, reader, versions) for sdk in SDKS for reader, versions in sdk.ranges()]
    return head + "|---" * 7 + "|\n" + "".join(lines)


def names_list() -> str:
    """The names by which each SDK is advertised, in Markdown."""
    return "".join(f"- {sdk.title}: {_names_of(sdk)}\n" for sdk in SDKS)


def _names_of(sdk: Sdk) -> str:
    names = ", ".join(f"`{name}`" for name in sdk.names)
    return names + (f"; by its User-Agent, `{sdk.user_agent}`, too" if sdk.user_agent else "")


def _reader_line(sdk: Sdk, reader: Reader, versions: str) -> str:
    start = f"| {sdk.title} | {versions} |"
    if reader.refused:
        return f"{start} not served | | it {reader.refused} | | {_PROOFS[reader.proof]} |\n"
    own = [row for row in reader.own_rows if row.name not in EVERY_SDK]
    rewritten = ", ".join(row.name for row in own if row.filter is not None) or "nothing"
    posted = "; ".join(_way_in(row) for row in own if row.upgrade) or "nothing changes"
    losses = [row.loss for row in own if row.loss] + ([f"it {reader.limits}"] if reader.limits else [])
    comments = "" if reader.comments else ", comments"
    lost = "; ".join(losses) or "nothing"
    return f"{start} {reader.release} | {rewritten}{comments} | {lost} | {posted} | {_PROOFS[reader.proof]} |\n"


_PROOFS = {"measured": "measured", "source": "from source"}


def with_readers(page: str) -> str:
    """The page of the configuration with the table as it should be."""
    table, names = readers_table(), names_list()
    return _NAMES.sub(lambda _: names, _READERS.sub(lambda _: table, page))


if __name__ == "__main__":
    CONFIG.write_text(with_readers(CONFIG.read_text()))
    DOWNGRADES_PAGE.write_text(with_table(DOWNGRADES_PAGE.read_text()))
    FILTERS.write_text(with_policies(FILTERS.read_text()))
