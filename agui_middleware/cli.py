"""The command line: rewrite a recorded or piped stream, and explain what a client needs."""

import sys
from collections.abc import AsyncIterator
from typing import IO, Any

import anyio
import click
from pydantic import ImportString, TypeAdapter, ValidationError

from agui_middleware import __version__
from agui_middleware.client import ClientVersion, known
from agui_middleware.downgrades import needed_by
from agui_middleware.downgrades.guard import TOLERANT
from agui_middleware.filters import Filter, SubagentVisibility
from agui_middleware.recording import rewrite as rewrite_stream

# The unit in which a pipe hands over what has come; a whole event is written before the next is read.
_CHUNK = 64 * 1024


class Release(click.ParamType):  # type: ignore[type-arg]  # generic in the newest click only
    """A release of @ag-ui/client, or `current`."""

    name = "release"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ClientVersion | None:
        if value == "current" or isinstance(value, ClientVersion):
            return None if value == "current" else value
        try:
            return ClientVersion.parse(value)
        except ValueError:
            self.fail(f"{value!r} is neither 'current' nor a release of @ag-ui/client, such as 0.0.58", param, ctx)


class Importable(click.ParamType):  # type: ignore[type-arg]  # as above
    """A filter, as `package.module:name`."""

    name = "package.module:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        try:
            filter: Any = TypeAdapter(ImportString).validate_python(value)
        except ValidationError as error:
            self.fail(error.errors()[0]["msg"], param, ctx)
        if not callable(filter):
            self.fail(f"{value!r} is not callable", param, ctx)
        return filter  # type: ignore[no-any-return]  # a callable is all that can be told


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """AG-UI event streams that every release of @ag-ui/client reads."""


@cli.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--client", type=Release(), default="current", show_default=True, help="The release that is to read the stream."
)
@click.option(
    "--visibility",
    type=click.Choice(["auto", *map(str, SubagentVisibility)]),
    default="auto",
    show_default=True,
    help="What it sees of subagents.",
)
@click.option("--filter", "filters", type=Importable(), multiple=True, help="A filter of your own; may be repeated.")
def rewrite(file: IO[bytes], client: ClientVersion | None, visibility: str, filters: tuple[Filter, ...]) -> None:
    """Rewrite the stream in FILE, by default standard input, as the middleware would.

    Events are written as they come, so it works in a pipe: curl -N ... | agui-middleware rewrite --client 0.0.58
    """

    async def chunks() -> AsyncIterator[bytes]:
        read = getattr(file, "read1", file.read)
        while chunk := read(_CHUNK):
            yield chunk

    async def run() -> None:
        async for written in rewrite_stream(chunks(), client=client, visibility=visibility, filters=filters):
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()

    anyio.run(run)


@cli.command()
@click.argument("release", type=Release())
def explain(release: ClientVersion | None) -> None:
    """Say what is changed for RELEASE of @ag-ui/client, and why."""
    client = None if release is None else known(release)
    rows = needed_by(client)
    if client is None:
        click.echo("A client that is newer than every release known here reads everything: nothing is changed.")
        return
    counts_as = "" if client == release else f", which counts as {client}"
    click.echo(f"@ag-ui/client {release}{counts_as}: {len(rows)} shapes are changed, in this order.")
    for row in rows:
        click.echo(f"\n{row.name} (read from {row.since} on)")
        click.echo(f"  A release before {row.since} {row.why}.")
        click.echo(f"  Lost: {row.lost}." if row.lost else "  Nothing is lost.")
    if client < TOLERANT:
        click.echo(f"\nEvent types that {client} does not know are dropped. A release before {TOLERANT} rejects them.")
