"""Several clients that one request names: all that each of them cannot read is rewritten."""

import pytest

from agui_middleware import rewrite
from agui_middleware.config.advertised import parse_advertised
from agui_middleware.config.hops import combined
from agui_middleware.config.named_clients import counts_as, parse_client
from agui_middleware.config.planning import make_plan
from agui_middleware.config.plans import Plans
from agui_middleware.config.readers import Reader
from agui_middleware.config.routes import Route
from agui_middleware.config.routing import Match
from agui_middleware.config.sdks import SDKS
from agui_middleware.downgrades import downgrades_for
from agui_middleware.protocol.releases import RELEASES, ClientVersion
from agui_middleware.testing import decode_events
from tests.strategies import Json, plain

READERS = [reader for sdk in SDKS for reader in sdk.readers if not reader.refused]
TANSTACK, RUST, DART = "@tanstack/ai-client@0.33.2", "ag-ui-client-uuids@0.1.0", "ag_ui@0.2.0"


def named(*values: str) -> Reader:
    client = parse_advertised([", ".join(values)])
    assert isinstance(client, Reader)
    return client


def rows(client: Reader) -> set[str]:
    return {row.name for row in [*client.downgrades, *client.own_rows]}


def test_an_sdk_behind_an_older_release_gets_the_rows_of_both() -> None:
    tanstack = named(TANSTACK)
    both = named(TANSTACK, "@ag-ui/client@0.0.45")
    assert both.release == ClientVersion(0, 0, 45)
    assert rows(both) == rows(tanstack) | {row.name for row in downgrades_for(ClientVersion(0, 0, 45))}
    assert {"media-parts", "outcomes", "activity-messages"} <= rows(both)
    assert "media-parts" not in rows(tanstack)
    assert str(both) == "@tanstack/ai-client@0.30.0 + @ag-ui/client@0.0.45"
    assert make_plan(both).header_value == f"client={both}; subagents=inline"


@pytest.mark.parametrize("newer", ["0.0.58", "1.1.0", "7.0.0"])
def test_a_release_that_reads_all_that_the_sdk_reads_changes_nothing(newer: str) -> None:
    assert named(newer, TANSTACK) is named(TANSTACK)


def test_a_release_counts_as_the_one_that_it_reads_like() -> None:
    assert str(named(TANSTACK, "0.0.57-canary.1")).endswith(" + @ag-ui/client@0.0.56")


def test_two_sdks_get_the_rows_of_both_and_one_that_fails_at_comments_gets_none() -> None:
    both = named(TANSTACK, RUST)
    assert rows(both) >= rows(named(TANSTACK)) | rows(named(RUST))
    assert not both.comments
    assert both.proof == "source"
    assert both.limits == f"{named(TANSTACK).limits}; it {named(RUST).limits}"
    assert named(RUST, RUST) is named(RUST)


def test_a_row_is_spared_where_none_of_them_needs_it() -> None:
    assert "reopened-calls" not in rows(named(DART))
    assert "reopened-calls" in rows(named(DART, "0.0.53"))
    assert "reopened-calls" not in rows(named(DART, TANSTACK)) & rows(named(DART))
    go = named(DART, "ag-ui-go@0.0.0-20260301000000-abc")
    assert "reopened-calls" not in rows(go)


@pytest.mark.parametrize("release", [RELEASES[0], ClientVersion(0, 0, 45), RELEASES[-1]])
@pytest.mark.parametrize("reader", READERS, ids=str)
def test_nothing_that_the_sdk_needs_is_missing_beside_any_release(reader: Reader, release: ClientVersion) -> None:
    both = combined((release, reader))
    assert isinstance(both, Reader)
    assert both.release <= min(reader.release, release)
    assert {row.name for row in reader.own_rows} <= rows(both)
    assert both.comments == reader.comments
    assert counts_as(both) is both


def test_a_stream_is_written_for_the_browser_and_the_runtime() -> None:
    """The null goes for the one, and reasoning becomes thinking for the other."""
    events: list[Json] = [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": None},
        {"type": "REASONING_START", "messageId": "m"},
        {"type": "REASONING_END", "messageId": "m"},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
    ]
    written = decode_events(rewrite(plain(events), client=combined((ClientVersion(0, 0, 40), named(TANSTACK)))))
    assert written[0] == {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    assert [event["type"] for event in written[1:3]] == ["THINKING_START", "THINKING_END"]


def test_an_sdk_that_is_refused_leaves_the_others() -> None:
    assert parse_advertised(["ag-ui-client@0.1.0", "0.0.45"]) == ClientVersion(0, 0, 45)


def test_plans_for_combinations_without_end_are_not_kept_without_end() -> None:
    plans = Plans([Route(path="/agent")], {}).of(Match(0, False))
    first = plans.plan(parse_client(TANSTACK))
    assert plans.plan(parse_client(TANSTACK)) is first
    combinations = [combined((left, right)) for left in READERS for right in READERS]
    for client in combinations[:600]:
        plans.plan(client)
    assert len(plans._plans) <= 256
