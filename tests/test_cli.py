import sys

import pytest
from click.testing import CliRunner, Result

from agui_middleware.__main__ import main
from agui_middleware.cli import cli

STREAM = b'data: {"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}\n\ndata: {"type":"RAW","event":1}\n\n'
RAW = b'data: {"type":"RAW","event":1}\n\n'


def invoke(*words: str, stream: bytes = b"") -> Result:
    return CliRunner().invoke(cli, words, input=stream)


def test_rewrite_reads_standard_input_and_writes_what_the_client_reads() -> None:
    assert invoke("rewrite", stream=STREAM).stdout_bytes == STREAM
    assert invoke("rewrite", "--client", "0.0.58", stream=STREAM).stdout_bytes == RAW
    assert invoke("rewrite", "--visibility", "hidden", stream=STREAM).stdout_bytes == RAW


def test_rewrite_takes_filters_by_import_string() -> None:
    given = ("rewrite", "--filter", "agui_middleware.filters.subagents:inline")
    assert invoke(*given, stream=STREAM).stdout_bytes == RAW


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rewrite", "--client", "new"), "'new' is neither 'current' nor a release"),
        (("rewrite", "--visibility", "no"), "'auto', 'attributed', 'inline', 'hidden'"),
        (("rewrite", "--filter", "nowhere:x"), "No module named 'nowhere'"),
        (("rewrite", "--filter", "math:pi"), "'math:pi' is not callable"),
        (("explain", "0.0"), "'0.0' is neither"),
    ],
)
def test_wrong_words_say_what_is_allowed(words: tuple[str, ...], said: str) -> None:
    result = invoke(*words)
    assert result.exit_code == 2
    assert said in result.output


def test_explain_says_what_is_changed_and_why() -> None:
    old = invoke("explain", "0.0.57-canary.1").output
    assert old.startswith("@ag-ui/client 0.0.57-canary.1, which counts as 0.0.56: ")
    assert "subagents (read from 0.0.59 on)\n  A release before 0.0.59 rejects SUBAGENT_STARTED" in old
    assert "Event types that 0.0.56 does not know are dropped." in old
    assert "Event types" not in invoke("explain", "1.0.0").output
    assert "reads everything" in invoke("explain", "current").output
    assert "reads everything" in invoke("explain", "2.0.0").output


def test_the_script_runs_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["agui-middleware", "--version"])
    with pytest.raises(SystemExit) as exit:
        main()
    assert exit.value.code == 0


def test_the_script_says_what_it_needs_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "agui_middleware.cli")
    with pytest.raises(SystemExit, match=r"agui-middleware\[cli\]"):
        main()
