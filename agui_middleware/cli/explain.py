"""`agui-middleware explain`."""

import click

from agui_middleware.cli.parameters import Release
from agui_middleware.downgrades import downgrades_for
from agui_middleware.downgrades.guard import TOLERANT
from agui_middleware.protocol.releases import ClientVersion, nearest_release


@click.command()
@click.argument("release", type=Release())
def explain(release: ClientVersion | None) -> None:
    """Say what is changed for RELEASE of @ag-ui/client, and why."""
    client = None if release is None else nearest_release(release)
    rows = downgrades_for(client)
    if client is None:
        click.echo("A client that is newer than every release known here reads everything: nothing is changed.")
        return
    counts_as = "" if client == release else f", which counts as {client}"
    changed = sum(row.filter is not None for row in rows)
    unchanged = f"; {len(rows) - changed} more cannot be changed for it" if changed < len(rows) else ""
    click.echo(f"@ag-ui/client {release}{counts_as}: {changed} features are changed, in this order{unchanged}.")
    for row in rows:
        click.echo(f"\n{row.name} (read from {row.fixed_in} on{'' if row.filter else '; not changed'})")
        click.echo(f"  A release before {row.fixed_in} {row.symptom}.")
        click.echo(f"  Lost: {row.loss}." if row.loss else "  Nothing is lost.")
    if client < TOLERANT:
        click.echo(f"\nEvent types that {client} does not know are dropped. A release before {TOLERANT} rejects them.")
