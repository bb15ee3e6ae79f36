"""`agui-middleware check`."""

import json
import sys
from typing import IO

import anyio
import click

from agui_middleware.checking import Verdict
from agui_middleware.checking import check as check_recording
from agui_middleware.cli.check_report import as_members, as_text
from agui_middleware.cli.parameters import Release
from agui_middleware.cli.streams import Input, escaped, exit_unreadable, standard_streams
from agui_middleware.config.readers import Reader
from agui_middleware.filters import SubagentVisibility
from agui_middleware.protocol.releases import ClientVersion


@click.command(short_help="Report whether a release reads a recorded stream.")
@click.argument("file", type=Input(), default="-")
@click.option(
    "--client",
    type=Release(),
    required=True,
    help="The release of @ag-ui/client that is to read the stream, or another SDK, such as ag_ui@0.2.0.",
)
@click.option(
    "--visibility",
    type=click.Choice(["auto", *map(str, SubagentVisibility)]),
    default="auto",
    show_default=True,
    help="What the route shows of subagents.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of text.")
def check(file: IO[bytes], client: ClientVersion | Reader | None, visibility: str, as_json: bool) -> None:
    """Report whether a release of @ag-ui/client reads the stream in FILE, by default standard input.

    FILE is a stream of Server-Sent Events as an agent sent it, or one JSON object per line. The report names the first event
    that the release rejects and the reason, the events it misreads, the usual causes, and whether the middleware helps.
    Another SDK is judged as the release that it reads like, and by its own rows, which `explain` lists.

    Exit status: 0, the release reads the stream as it is; 1, it does not, whether or not the middleware helps; 2, there is
    nothing to read.
    """
    with standard_streams():
        report = anyio.run(check_recording, file.read(), client, visibility)
        if not report.events:
            exit_unreadable("there is nothing to read: no AG-UI event was found")
        click.echo(json.dumps(as_members(report)) if as_json else "\n".join(map(escaped, as_text(report))))
    sys.exit(0 if report.verdict is Verdict.READ else 1)
