"""`agui-middleware rewrite`."""

import sys
from collections.abc import AsyncIterator, Callable
from typing import IO

import anyio
import click

from agui_middleware.cli.parameters import Body, Importable, Release
from agui_middleware.cli.streams import Input, standard_streams
from agui_middleware.config.readers import Reader
from agui_middleware.filters import Filter, SubagentVisibility
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.recording import rewrite as rewrite_stream

# The unit in which a pipe hands over what has come; a whole event is written before the next is read.
_CHUNK = 64 * 1024


@click.command(short_help="Rewrite a recorded stream, or a pipe.")
@click.argument("file", type=Input(), default="-")
@click.option(
    "--client",
    type=Release(),
    default="current",
    show_default=True,
    help="The release of @ag-ui/client that is to read the stream, or another SDK, such as ag_ui@0.2.0.",
)
@click.option(
    "--visibility",
    type=click.Choice(["auto", *map(str, SubagentVisibility)]),
    default="auto",
    show_default=True,
    help="What the route shows of subagents.",
)
@click.option(
    "--filter",
    "filters",
    type=Importable(),
    multiple=True,
    help="A filter, also looked up in the working directory; may be repeated.",
)
@click.option(
    "--input",
    "posted",
    type=Body(),
    help="A file with the body of the request that the stream answers, for filters that look at Context.input.",
)
def rewrite(
    file: IO[bytes],
    client: ClientVersion | Reader | None,
    visibility: str,
    filters: tuple[Filter, ...],
    posted: JsonObject | None,
) -> None:
    """Rewrite the stream in FILE, by default standard input, as the middleware would.

    Events are written as they come, so it works in a pipe: curl -N ... | agui-middleware rewrite --client 0.0.58
    """

    async def chunks() -> AsyncIterator[bytes]:
        read = getattr(file, "read1", file.read)
        while chunk := _read(read):
            yield chunk

    async def run() -> None:
        left = rewrite_stream(chunks(), client=client, visibility=visibility, filters=filters, input=posted)
        nothing = True
        async for written in left:
            nothing = nothing and not written
            # Only here: an OSError of a filter keeps its traceback.
            with standard_streams():
                sys.stdout.buffer.write(written)
                sys.stdout.buffer.flush()
        if nothing:  # such as the page of an error that was saved as a recording
            click.echo("Nothing was written: the input has no AG-UI event, or the filters have dropped all.", err=True)

    anyio.run(run)


def _read(read: Callable[[int], bytes]) -> bytes:
    with standard_streams():
        return read(_CHUNK)
