"""`agui-middleware check`."""

import json

import pytest
from click.testing import CliRunner, Result

from agui_middleware.cli import cli
from agui_middleware.testing import encode_events
from tests.notation import stream

SUBAGENT = encode_events(stream("RS r; SUB+ s; TS m @s; TE m; SUB- s; RF r"))
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
    assert result.stderr == "Error: there is nothing to read: no AG-UI event is in it\n"


def test_the_text_names_the_event_and_what_becomes_of_it() -> None:
    said = invoke("--client", "0.0.58", stream=SUBAGENT).output
    assert said.startswith("@ag-ui/client 0.0.58 refuses this stream of 6 events.\n")
    assert "It refuses event 2, SUBAGENT_STARTED: unknown-types: such a release rejects events of a type" in said
    assert "  SUBAGENT_STARTED                      0        0        1      0\n" in said
    assert "  subagents: which subagent did what, and its steps (from 0.0.59 on it is kept)" in said
    assert "leave every event as it is" in invoke("--client", "current", stream=PLAIN).output
    assert "reads otherwise" in invoke("--client", "0.0.59", stream=encode_events(stream("STATE snapshot=null"))).output
    assert "put the framing right" in invoke("--client", "1.0.0", stream=PLAIN.replace(b"\n", b"\r\n")).output


def test_the_text_says_where_the_run_would_be_ended() -> None:
    body = b'{"type":"MESSAGES_SNAPSHOT","messages":{}}'
    assert "end the run with RUN_ERROR" in invoke("--client", "1.0.0", "--visibility", "hidden", stream=body).output
    report = json.loads(invoke("--client", "1.0.0", "--visibility", "hidden", "--json", stream=body).output)
    assert (report["middleware"], report["failure"], report["lost"]) == (None, "AGUI_MALFORMED_EVENT", [])


def test_json_says_the_same() -> None:
    report = json.loads(invoke("--client", "0.0.57-canary.1", "--json", stream=SUBAGENT).output)
    assert (report["client"], report["verdict"], report["events"]) == ("0.0.56", "refused", 6)
    assert report["refused"][0] == {
        "event": 2,
        "type": "SUBAGENT_STARTED",
        "shape": "unknown-types",
        "why": "rejects events of a type that it does not know",
        "since": "0.0.59",
    }
    assert report["middleware"]["SUBAGENT_STARTED"] == {"unchanged": 0, "changed": 0, "dropped": 1, "added": 0}
    assert [loss["shape"] for loss in report["lost"]] == ["subagents"]
    assert json.loads(invoke("--client", "current", "--json", stream=PLAIN).output)["client"] is None
