"""Names of clients, and the table of SDKs."""

import re
from dataclasses import replace

import pytest

from agui_middleware import rewrite
from agui_middleware.config.advertised import parse_advertised, user_agent
from agui_middleware.config.named_clients import RefusedClient, UnknownClient, counts_as, from_user_agent, parse_client
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader, Sdk
from agui_middleware.config.sdks import SDKS
from agui_middleware.downgrades import DOWNGRADES, SDK_ROWS, build_pipeline, downgrades_for
from agui_middleware.protocol.releases import RELEASES, ClientVersion
from tests.strategies import plain

READERS = [reader for sdk in SDKS for reader in sdk.readers]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("@tanstack/ai-client@0.33.2", "@tanstack/ai-client@0.30.0"),
        ("@tanstack/ai-client/0.33.2", "@tanstack/ai-client@0.30.0"),
        ("@tanstack/ai-client@0.7.9", "@tanstack/ai-client@0.0.1"),
        ("ag_ui/0.2.0", "ag_ui@0.2.0"),
        (" AG_UI@v0.3.0 ", "ag_ui@0.2.0"),
        ("ag_ui@0.0.1", "ag_ui@0.1.0"),
        ("kotlin-client/0.2.5", "kotlin-client@0.2.5"),
        ("com.ag-ui.community:kotlin-core:0.2.7", "kotlin-client@0.2.5"),
        ("agent-framework-ag-ui@1.7.0", "agent-framework-ag-ui@1.0.0"),
        ("Microsoft.Agents.AI.AGUI/1.5", "Microsoft.Agents.AI.AGUI@1.5.0-0"),
        ("Microsoft.Agents.AI.AGUI@1.13.0-preview.260701.1", "Microsoft.Agents.AI.AGUI@1.5.0-0"),
        ("Microsoft.Agents.AI.AGUI@1.0.0-preview.251108.1", "Microsoft.Agents.AI.AGUI@1.0.0-preview.251107"),
        ("Microsoft.Agents.AI.AGUI@1.0.0-preview.251112.1", "Microsoft.Agents.AI.AGUI@1.0.0-preview.251110"),
        ("AGUI.Client/0.0.5.0", "AGUI.Client@0.0.4"),
        (
            "github.com/ag-ui-protocol/ag-ui/sdks/community/go@v0.0.0-20260301101112-abcdef123456",
            "github.com/ag-ui-protocol/ag-ui/sdks/community/go@0.0.0-20260226-0",
        ),
        ("ag-ui-cpp@1", "ag-ui-cpp@1.0.0"),
        ("ragas@0.4.3+local", "ragas@0.4.2"),
    ],
)
def test_an_sdk_is_named_by_its_package_and_counts_as_the_newest_listed_version(value: str, name: str) -> None:
    assert str(parse_client(value)) == name
    assert parse_advertised([value]) is parse_client(value)


@pytest.mark.parametrize("value", ["0.0.58", "@ag-ui/client@0.0.58", "v0.0.58"])
def test_releases_of_ag_ui_client_are_named_as_before(value: str) -> None:
    assert parse_client(value) == ClientVersion(0, 0, 58)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "ag_ui",
        "ag_ui@",
        "ag_ui@x",
        "nobody@1.0.0",
        "@1.0.0",
        "ag_ui@1.2.3.4.5",
        f"ag_ui@{'9' * 10}",
        "ag_ui@1" * 200,
    ],
)
def test_a_name_that_nobody_knows_counts_as_absent(value: str) -> None:
    with pytest.raises(UnknownClient, match="neither a release of @ag-ui/client nor the version of a known SDK"):
        parse_client(value)
    assert parse_advertised([value]) is None


def test_a_refused_sdk_says_why_and_counts_as_absent(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RefusedClient, match=r"ag-ui-client@0\.1\.0 reads only UUIDs .* ag-ui-client-uuids"):
        parse_client("ag-ui-client@0.1.0")
    for patch in range(100):
        assert parse_advertised([f"ag-ui-client@0.1.{patch}"]) is None
    assert [vars(record)["count"] for record in caplog.records] == [1, 10, 100]
    assert isinstance(parse_client("ag-ui-client-uuids@0.1.0"), Reader)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("AG-UI-CPP-SDK/1.0", "ag-ui-cpp@1.0.0"),
        ("MyApp/2.0 AGUISwift/1.0 CFNetwork/1", "ag-ui-swift@1.0.0"),
        ("python-httpx/0.28.1", None),
        ("ktor-client", None),
        ("", None),
    ],
)
def test_a_telling_user_agent_names_its_sdk(value: str, name: str | None) -> None:
    reader = from_user_agent(value)
    assert (reader and reader.name) == name
    assert user_agent([(b"accept", b"*/*"), (b"User-Agent", value.encode())]) is reader


def test_a_request_without_a_user_agent_names_none() -> None:
    assert user_agent([]) is None


def test_a_release_counts_as_a_known_one_and_a_reader_as_itself() -> None:
    reader = parse_client("ag_ui@0.2.0")
    assert counts_as(reader) is reader
    assert counts_as(ClientVersion(0, 0, 29)) == ClientVersion(0, 0, 28)
    assert counts_as(None) is None


class TestTable:
    def test_no_two_sdks_have_a_name_in_common(self) -> None:
        names = [name.casefold() for sdk in SDKS for name in sdk.names]
        assert len(set(names)) == len(names)

    @pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.title)
    def test_the_versions_of_an_sdk_ascend(self, sdk: Sdk) -> None:
        versions = [reader.since for reader in sdk.readers]
        assert versions == sorted(set(versions))

    @pytest.mark.parametrize("reader", READERS, ids=str)
    def test_a_reader_names_rows_that_there_are_and_that_its_release_does_not_bring(self, reader: Reader) -> None:
        rows = {row.name: row for row in DOWNGRADES}
        assert set(reader.rows) <= rows.keys() | {row.name for row in SDK_ROWS}
        assert len(set(reader.rows)) == len(reader.rows)
        assert reader.release in RELEASES
        needed = {row.name for row in downgrades_for(reader.release)}
        doubled = set(reader.rows) & needed - {"empty-deltas"}
        assert not doubled, f"{reader}: {doubled} come with {reader.release}"

    @pytest.mark.parametrize("reader", READERS, ids=str)
    def test_a_reader_is_a_key_and_says_what_proves_it(self, reader: Reader) -> None:
        assert {reader: 1}[reader] == 1
        assert re.fullmatch(r"\S+@\d+\.\d+\.\d+\S*", str(reader))
        assert reader.proof in ("measured", "source")


def test_a_plan_for_a_reader_has_the_rows_of_its_release_and_its_own() -> None:
    reader = parse_client("@tanstack/ai-client@0.33.2")
    assert isinstance(reader, Reader)
    plan = make_plan(reader)
    assert plan.client == ClientVersion(0, 0, 58)
    assert plan.header_value == "client=@tanstack/ai-client@0.30.0; subagents=inline"
    assert plan.reader_name == "@tanstack/ai-client@0.30.0"
    alone = build_pipeline(reader.release, [], lowered=True)[:-1]  # the guard is each pipeline's own
    assert set(alone) < set(build_pipeline(reader.release, [], lowered=True, also=reader.rows))


def test_a_reader_whose_release_reads_everything_has_its_own_rows_all_the_same() -> None:
    reader = parse_client("ag_ui@0.2.0")
    assert isinstance(reader, Reader)
    plan = make_plan(replace(reader, release=ClientVersion(1, 1, 0)))
    assert plan.rewrites
    assert plan.header_value == "client=ag_ui@0.2.0"


def test_a_plan_for_a_release_names_no_reader() -> None:
    assert make_plan(ClientVersion(0, 0, 58)).reader_name is None
    assert make_plan(None).header_value is None


def test_a_recorded_stream_is_rewritten_for_an_sdk() -> None:
    run = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    step = {"type": "STEP_STARTED", "stepName": "s"}
    assert rewrite(plain([run, step]), client="Microsoft.Agents.AI.AGUI@1.5.0") == plain([run])
    with pytest.raises(ValueError, match="UUIDs"):
        rewrite(b"", client="ag-ui-client@0.1.0")
