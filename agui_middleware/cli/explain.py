"""`agui-middleware explain`."""

from collections.abc import Iterator

import click

from agui_middleware.cli.parameters import Release
from agui_middleware.downgrades import Downgrade, downgrades_for
from agui_middleware.downgrades.guard import TOLERANT
from agui_middleware.protocol.releases import UPCOMING, ClientVersion, nearest_release


@click.command()
@click.argument("release", type=Release())
def explain(release: ClientVersion | None) -> None:
    """Print what is changed for RELEASE of @ag-ui/client, and why."""
    client = None if release is None else nearest_release(release)
    rows = downgrades_for(client)
    if client is None:
        click.echo(f"A client of {UPCOMING[-1]} or newer reads everything: nothing is changed.")
        return
    counts_as = "" if client == release else f", which counts as {client}"
    rewritten = sum(row.rewrites for row in rows)
    left = f" {len(rows) - rewritten} more cannot be." if rewritten < len(rows) else ""
    click.echo(f"@ag-ui/client {release}{counts_as}: {rewritten} features are rewritten, in this order.{left}")
    for row in rows:
        click.echo(f"\n{row.name} (read from {row.fixed_in} on)")
        for line in _lines(row, {row.name for row in rows}):
            click.echo(f"  {line}")
    if client < TOLERANT:
        click.echo(f"\nEvent types that {client} does not know are dropped. A release before {TOLERANT} rejects them.")


def _lines(row: Downgrade, names: set[str]) -> Iterator[str]:
    yield f"A release before {row.fixed_in} {row.symptom}."
    if not row.rewrites:
        yield "No rewriting helps: the stream stays as it is."
    yield f"Lost: {row.loss}." if row.loss else "Nothing is lost."
    for difference in row.differences:
        yield f"The conversation ends {difference}."
    for other in row.after:
        if other.row in names:
            yield f"After {other.row}: {other.reason}."
