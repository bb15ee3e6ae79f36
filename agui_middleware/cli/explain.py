"""`agui-middleware explain`."""

import click

from agui_middleware.cli.parameters import Release
from agui_middleware.client import ClientVersion, known
from agui_middleware.downgrades import needed_by
from agui_middleware.downgrades.guard import TOLERANT


@click.command()
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
