"""`agui-middleware check`."""

import json

import pytest
from click.testing import CliRunner, Result

from agui_middleware.cli import cli
from agui_middleware.filters.producer_faults import REPAIR
from agui_middleware.testing import encode_events
from tests.notation import stream

SUBAGENT = encode_events(stream("RS r; SUB+ s; TS m @s; TE m; SUB- s; RF r"))
NULL = "RS r; TS m timestamp=null; TE m; RF r"
PLAIN = encode_events(stream("RS r; TS m; TC m hi; TE m; RF r"))


def invoke(*words: str, stream: bytes) -> Result:
    return CliRunner().invoke(cli, ["check", *words], input=stream)


@pytest.mark.parametrize(
    ("release", "body", "status"),
    [
        ("0.0.58", PLAIN, 0),
        ("0.0.58", SUBAGENT, 1),
        ("1.0.0", SUBAGENT, 0),
        ("current", SUBAGENT, 0),
        ("2.0.0", SUBAGENT, 0),
        ("0.0.57", encode_events(stream("RS r; KS c; KE c; KS c; KE c; RF r")), 1),
        ("1.0.0", encode_events(stream("RS r; TS m; TE m; TE m; RF r")), 1),
        ("1.0.0", PLAIN + b"data: [DONE]\n\n", 1),
        ("0.0.58", b'{"type"', 2),
        ("new", PLAIN, 2),
    ],
)
def test_the_exit_status_says_whether_the_release_reads_it(release: str, body: bytes, status: int) -> None:
    assert invoke("--client", release, stream=body).exit_code == status


@pytest.mark.parametrize("body", [b"", b"\n", b"<html>502</html>", b": waiting\n\n", b"data: [DONE]\n\n"])
@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_stream_without_an_event_is_not_called_read(words: tuple[str, ...], body: bytes) -> None:
    result = invoke("--client", "0.0.58", *words, stream=body)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: there is nothing to read: no AG-UI event was found\n"


def text(release: str, body: bytes, *words: str) -> str:
    return invoke("--client", release, *words, stream=body).output


def test_the_text_names_the_event_and_what_becomes_of_it() -> None:
    refused = text("0.0.58", SUBAGENT)
    assert refused.startswith("@ag-ui/client 0.0.58 refuses this stream of 6 events.\n")
    assert "It refuses event 2, SUBAGENT_STARTED: unknown-types: this release rejects events of a type" in refused
    assert "Without that, event 5, SUBAGENT_FINISHED: " in refused
    assert "Behind the middleware, @ag-ui/client 0.0.58 reads it.\n" in refused
    assert "  SUBAGENT_STARTED                      0        0        1      0\n" in refused
    assert "  subagents: which subagent did what, and its steps (0.0.59 and later keep it)" in refused


def test_the_text_of_a_stream_that_is_read_or_misread() -> None:
    read = "The newest release, @ag-ui/client 1.0.0, reads this stream of 5 events as it is.\n"
    assert text("current", PLAIN) == read + "\nThe middleware leaves every event as it is.\n"
    misread = text("0.0.59", encode_events(stream("RS r; STATE snapshot=null; RF r")))
    assert "misreads this stream of 3 events" in misread
    assert "It misreads:\n  event 2, STATE_SNAPSHOT: empty-state: this release ignores a state of null" in misread


def test_what_the_middleware_cannot_help_with_is_refused_behind_it_too() -> None:
    twice = text("1.0.0", encode_events(stream("RS r; TS m; TE m; TE m; RF r")))
    assert "It refuses event 4, TEXT_MESSAGE_END: malformed: this release rejects TEXT_MESSAGE_END: no text" in twice
    assert "The middleware does not help: behind it, @ag-ui/client 1.0.0 does not read the stream either.\n" in twice


def test_the_usual_cause_is_named_with_what_helps() -> None:
    nulls = text("1.0.0", encode_events(stream(NULL)))
    assert "Usual causes:\n  null-members: optional members" in nulls
    assert f"    What helps: the filter {REPAIR}; or " in nulls
    assert f"It does with the filter {REPAIR} on the route.\n" in nulls
    framed = text("1.0.0", PLAIN.replace(b"\n", b"\r\n"))
    assert "  crlf: the lines end with CR or CRLF" in framed
    assert "Behind the middleware, @ag-ui/client 1.0.0 reads it.\n" in framed


def test_the_text_says_where_the_run_would_be_ended() -> None:
    body = b'{"type":"MESSAGES_SNAPSHOT","messages":{}}'
    assert "end the run with RUN_ERROR" in text("1.0.0", body, "--visibility", "hidden")
    report = json.loads(text("1.0.0", body, "--visibility", "hidden", "--json"))
    assert (report["middleware"], report["failure"], report["lost"]) == (None, "AGUI_MALFORMED_EVENT", [])
    assert report["helped"] is False


def test_nothing_of_a_recording_reaches_the_terminal_unescaped() -> None:
    """An escape sequence in a type, and a mark that would turn the line around."""
    hostile = encode_events([*stream("RS r"), {"type": "\x1b[31mRED\x07\u202e\x9b"}, *stream("RF r")])
    lines = text("0.0.58", hostile).splitlines()
    assert all(line.isprintable() for line in lines)
    assert any("event 2, \\x1b[31mRED\\x07\\u202e\\x9b: unknown-types" in line for line in lines)


def test_json_says_the_same() -> None:
    report = json.loads(text("0.0.57-canary.1", SUBAGENT, "--json"))
    assert (report["client"], report["verdict"], report["events"]) == ("0.0.56", "refused", 6)
    assert report["refused"][0] == {
        "event": 2,
        "type": "SUBAGENT_STARTED",
        "feature": "unknown-types",
        "reason": "rejects events of a type that it does not know",
        "fixed_in": "0.0.59",
    }
    assert (report["helped"], report["remedies"], report["causes"], report["misread"]) == (True, [], [], [])
    assert report["middleware"]["SUBAGENT_STARTED"] == {"unchanged": 0, "changed": 0, "dropped": 1, "added": 0}
    assert [(loss["feature"], loss["fixed_in"]) for loss in report["lost"]] == [("subagents", "0.0.59")]


def test_json_of_causes_and_of_a_stream_that_is_read() -> None:
    report = json.loads(text("1.0.0", encode_events(stream(NULL)), "--json"))
    assert (report["helped"], report["remedies"]) == (False, [REPAIR])
    assert [cause.keys() for cause in report["causes"]] == [{"name", "text", "cure"}]
    read = json.loads(text("current", PLAIN, "--json"))
    assert (read["client"], read["verdict"], read["helped"]) == (None, "read", None)


class TestOtherSdks:
    """Judged as the release that the SDK reads like, and by its own rows."""

    DOTNET = "Microsoft.Agents.AI.AGUI@1.5.0"

    def test_the_text_says_how_one_is_judged(self) -> None:
        told = text("ag_ui@0.2.0", PLAIN)
        assert told.startswith(
            "ag_ui@0.2.0 is judged as @ag-ui/client 0.0.53, which it reads like, and by its own rows"
        )
        assert "\n\nag_ui@0.2.0 reads this stream of 5 events as it is.\n" in told

    def test_what_its_own_rows_change_is_misread(self) -> None:
        steps = encode_events(stream("RS r; STEP+ a; STEP- a; TS m; KS c; TE m; KE c; RF r"))
        result = invoke("--client", self.DOTNET, "--json", stream=steps)
        report = json.loads(result.output)
        assert (result.exit_code, report["client"], report["verdict"]) == (1, "0.0.58", "misread")
        assert report["reader"] == "Microsoft.Agents.AI.AGUI@1.5.0-0"
        found = [(finding["event"], finding["feature"], finding["fixed_in"]) for finding in report["misread"]]
        assert found == [(2, "no-steps", None), (5, "interleaving", None)]
        assert report["helped"] is True
        assert report["middleware"]["STEP_STARTED"]["dropped"] == 1
        assert invoke("--client", "0.0.58", stream=steps).exit_code == 0

    def test_chunks_are_misread(self) -> None:
        report = json.loads(text("@tanstack/ai-client@0.33.2", encode_events(stream("RS r; TK m hi; RF r")), "--json"))
        assert {(finding["event"], finding["feature"]) for finding in report["misread"]} >= {(2, "chunks")}
        assert report["helped"] is True

    def test_what_its_release_refuses_it_refuses(self) -> None:
        report = json.loads(text("ag_ui@0.2.0", SUBAGENT, "--json"))
        assert report["verdict"] == "refused"
        assert report["helped"] is True

    def test_one_that_is_refused_is_a_wrong_argument(self) -> None:
        result = invoke("--client", "ag-ui-client@0.1.0", stream=PLAIN)
        assert result.exit_code == 2
        assert "reads only UUIDs" in result.output

    def test_a_release_has_no_reader(self) -> None:
        assert json.loads(text("0.0.58", PLAIN, "--json"))["reader"] is None


def test_what_a_client_drops_without_an_error_is_said_though_it_reads_the_stream() -> None:
    dropped = encode_events(stream("RS r; GS g; GC g hm; GE g; SNAP h:reasoning; RF r"))
    result = invoke("--client", "1.0.0", stream=dropped)
    assert result.exit_code == 0
    assert "Without an error, the client loses something:\n  dropped-reasoning: " in result.output
