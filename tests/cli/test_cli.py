import runpy
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agui_middleware import __version__
from agui_middleware.__main__ import main
from agui_middleware.cli import COMMANDS, cli
from agui_middleware.config.named_clients import parse_client
from agui_middleware.config.readers import Reader
from agui_middleware.config.sdks import SDKS
from agui_middleware.downgrades import sdk_rows

STREAM = b'data: {"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n"}\n\ndata: {"type":"RAW","event":1}\n\n'
TOOLS = "agui_middleware.filters.tools:allow_tools"
RAW = b'data: {"type":"RAW","event":1}\n\n'


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command adds to it is gone afterwards; an installed script has no working directory in it."""
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])


def invoke(*words: str, stream: bytes = b"") -> Result:
    return CliRunner().invoke(cli, words, input=stream)


def test_rewrite_reads_standard_input_and_writes_what_the_client_reads() -> None:
    assert invoke("rewrite", stream=STREAM).stdout_bytes == STREAM
    assert invoke("rewrite", "--client", "0.0.58", stream=STREAM).stdout_bytes == RAW
    assert invoke("rewrite", "--visibility", "hidden", stream=STREAM).stdout_bytes == RAW


def test_rewrite_takes_filters_by_import_string() -> None:
    given = ("rewrite", "--filter", "agui_middleware.filters.subagents:inline")
    assert invoke(*given, stream=STREAM).stdout_bytes == RAW


def test_rewrite_finds_filters_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "filters_of_a_folder.py").write_text("from agui_middleware.filters.subagents import inline as mine\n")
    monkeypatch.chdir(tmp_path)
    given = ("rewrite", "--filter", "filters_of_a_folder:mine")
    assert invoke(*given, stream=STREAM).stdout_bytes == RAW


def test_rewrite_takes_the_input_that_a_filter_looks_at(tmp_path: Path) -> None:
    call = b'data: {"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"confirm"}\n\n'
    given = ("rewrite", "--filter", "agui_middleware.filters.tools:server_tools_private")
    posted, broken = tmp_path / "posted.json", tmp_path / "broken.json"
    posted.write_bytes(b'{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"confirm"}]}')
    broken.write_bytes(b"[]")
    assert invoke(*given, stream=call).stdout_bytes == b""
    assert invoke(*given, "--input", str(posted), stream=call).stdout_bytes == call
    refused = invoke(*given, "--input", str(broken), stream=call)
    assert (refused.exit_code, "broken.json': not a JSON object" in refused.stderr) == (2, True)


@pytest.mark.parametrize("stream", [b"", b"<html>Not Found</html>", b"\0\xff" * 500])
def test_a_rewritten_stream_of_which_nothing_is_left_says_so(stream: bytes) -> None:
    result = invoke("rewrite", stream=stream)
    assert (result.exit_code, result.stdout_bytes) == (0, b"")
    assert "the input has no AG-UI event, or the filters have dropped all" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rewrite", "--client", "new"), "'new' is neither 'current' nor a release"),
        (("rewrite", "--visibility", "no"), "'auto', 'attributed', 'inline', 'hidden'"),
        (("rewrite", "--filter", "nowhere:x"), "No module named 'nowhere'"),
        (("rewrite", "--filter", "broken:x"), "importing 'broken:x' raised KeyError: 'HOME'"),
        (("rewrite", "--filter", "math:pi"), "'math:pi' is not callable"),
        (
            ("rewrite", "--filter", TOOLS),
            f"'{TOOLS}' makes filters; name one that it has made, such as `mine = allow_",
        ),
        (("explain", "0.0"), "'0.0' is neither"),
        (("rewrite", "--client", "ag_uy@0.2.0"), "nor an SDK and its version, such as ag_ui@0.2.0"),
        (("explain", "ag-ui-client@0.1.0"), "ag-ui-client@0.1.0 reads only UUIDs"),
        (("explain",), "Missing argument 'CLIENT'"),
    ],
)
def test_wrong_words_say_what_is_allowed(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("raise KeyError('HOME')")
    monkeypatch.chdir(tmp_path)
    result = invoke(*words)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_explain_says_what_is_changed_and_why() -> None:
    old = invoke("explain", "0.0.57-canary.1").output
    assert old.startswith("@ag-ui/client 0.0.57-canary.1, which counts as 0.0.56: ")
    assert "subagents (read from 0.0.59 on)\n  A release before 0.0.59 rejects SUBAGENT_STARTED" in old
    assert "Event types that 0.0.56 does not know are dropped." in old
    assert "Event types" not in invoke("explain", "1.0.0").output
    assert invoke("explain", "1.0.2").output.startswith("@ag-ui/client 1.0.2, which counts as 1.0.0: 2 features")
    assert "reads everything" in invoke("explain", "current").output
    assert "reads everything" in invoke("explain", "2.0.0").output


def test_explain_prints_all_that_a_row_declares() -> None:
    old = invoke("explain", "0.0.44").output
    assert "empty-state (read from 1.0.0 on)\n" in old
    assert (
        "  Nothing is lost.\n  The conversation ends with the state `{}` in place of null, false, 0 or the empty" in old
    )
    assert "  After thinking: it turns THINKING_* into the REASONING_* that this row reads.\n" in old
    assert "After chunks" not in invoke("explain", "0.0.59").output  # that row is not applied


def test_explain_counts_only_what_it_rewrites() -> None:
    """It said "18 shapes are changed", three of which it leaves as they are."""
    head, *_ = invoke("explain", "0.0.58").output.splitlines()
    assert head == "@ag-ui/client 0.0.58: 15 features are rewritten, in this order. 3 more cannot be."
    assert "  No rewriting helps: the stream stays as it is.\n" in invoke("explain", "0.0.58").output
    assert "more cannot be" not in invoke("explain", "1.0.0").output


def test_rewrite_serves_other_sdks() -> None:
    assert invoke("rewrite", "--client", "Microsoft.Agents.AI.AGUI@1.5.0", stream=STREAM).stdout_bytes == b""
    assert invoke("rewrite", "--client", "ag_ui/0.2.0", stream=STREAM).stdout_bytes == RAW


def test_explain_says_what_another_sdk_needs() -> None:
    head, limits, *_ = invoke("explain", "ag_ui@0.2.7").output.splitlines()
    assert head.startswith("ag_ui@0.2.0 reads like @ag-ui/client 0.0.53 (read in its source): ")
    assert limits == "No rewriting helps where it rejects ids of threads and runs that are longer than 100 characters."
    told = invoke("explain", "Microsoft.Agents.AI.AGUI@1.5").output
    assert "No rewriting helps where" not in told
    assert "\ninterleaving (for this SDK)\n" in told
    assert "\nsubagents (read from 0.0.59 on)\n" in told
    assert "\nno-steps (for this SDK)\n  Such a client ends the run at STEP_STARTED" in told
    assert "  Lost: the steps of a run.\n" in told
    assert (
        "\nnull-members (for this SDK)\n  Such a client rejects a null where a member may be absent.\n  Nothing" in told
    )
    assert "Event types that 0.0.58 does not know are dropped." in told
    assert "No comment reaches" not in told
    assert "No comment reaches the client" in invoke("explain", "ag-ui-client-uuids@0.1.0").output


def test_explain_counts_the_rows_of_an_sdk_as_its_plan_has_them() -> None:
    reader = parse_client("@tanstack/ai-client@0.33.2")
    assert isinstance(reader, Reader)
    rows = sum(row.filter is not None for row in sdk_rows(reader.rows)) + sum(row.rewrites for row in reader.downgrades)
    assert f": {rows} features are rewritten" in invoke("explain", "@tanstack/ai-client@0.33.2").output


def test_explain_lists_the_sdks() -> None:
    lines = invoke("explain", "--list").output.splitlines()
    assert "Dart, named as ag_ui" in lines
    assert "  before 0.2.0: reads like @ag-ui/client 0.0.40 (read in its source)" in lines
    assert "  from 0.2.0 on: reads like @ag-ui/client 0.0.53 (read in its source)" in lines
    assert "  0.2.4 up to 0.2.5: reads like @ag-ui/client 0.0.44 (read in its source)" in lines
    assert "  from 0.30.0 on: reads like @ag-ui/client 0.0.58 (measured with the package)" in lines
    assert any(line.startswith("  all: not served: it reads only UUIDs") for line in lines)
    assert len(lines) == sum(1 + len(sdk.readers) for sdk in SDKS)


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


def test_the_script_hides_no_other_module_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agui_middleware.cli", None)
    with pytest.raises(ModuleNotFoundError, match=r"agui_middleware\.cli"):
        main()


def test_the_package_runs_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["agui_middleware", "--version"])
    monkeypatch.delitem(sys.modules, "agui_middleware.__main__")  # which runpy would warn of
    with pytest.raises(SystemExit) as exit:
        runpy.run_module("agui_middleware", run_name="__main__")
    assert (exit.value.code, capsys.readouterr().out) == (0, f"agui-middleware, version {__version__}\n")


def test_the_help_lists_every_command_with_a_line_of_its_own() -> None:
    lines = invoke("--help").output.partition("Commands:\n")[2].splitlines()
    assert [line.split(maxsplit=1)[0] for line in lines] == list(COMMANDS)
    assert all(len(line.split()) > 3 for line in lines)


def test_an_unknown_command_is_named() -> None:
    result = invoke("translate")
    assert result.exit_code == 2
    assert "No such command 'translate'" in result.output
