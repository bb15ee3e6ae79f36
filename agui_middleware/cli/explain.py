"""`agui-middleware explain`."""

from collections.abc import Iterable, Iterator

import click

from agui_middleware.cli.parameters import Release
from agui_middleware.config.readers import Reader
from agui_middleware.config.sdks import SDKS
from agui_middleware.downgrades import Downgrade, SdkRow, downgrades_for, sdk_rows
from agui_middleware.downgrades.guard import TOLERANT
from agui_middleware.history.upgrade import STEPS
from agui_middleware.protocol.releases import UPCOMING, ClientVersion, nearest_release


def _list_and_exit(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo("\n".join(_list_lines()))
        ctx.exit()


@click.command()
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_and_exit,
    help="List the SDKs besides @ag-ui/client, and exit.",
)
@click.argument("client", type=Release(), metavar="CLIENT")
def explain(client: ClientVersion | Reader | None) -> None:
    """Print what is changed for CLIENT, and why.

    CLIENT is a release of @ag-ui/client, such as 0.0.58, or another SDK and its version, such as ag_ui@0.2.0.
    """
    lines = _reader_lines(client) if isinstance(client, Reader) else _release_lines(client)
    click.echo("\n".join(lines))


def _list_lines() -> Iterator[str]:
    for sdk in SDKS:
        yield f"{sdk.title}, named as {', '.join(sdk.names)}"
        for reader, versions in sdk.ranges():
            yield f"  {versions}: " + (f"not served: it {reader.refused}" if reader.refused else _summary(reader))


def _summary(reader: Reader) -> str:
    return f"reads like @ag-ui/client {reader.release} ({_PROOFS[reader.proof]})"


_PROOFS = {"measured": "measured with the package", "source": "read in its source"}


def _release_lines(release: ClientVersion | None) -> Iterator[str]:
    client = None if release is None else nearest_release(release)
    if client is None:
        yield f"A client of {UPCOMING[-1]} or newer reads everything: nothing is changed."
        return
    counts_as = "" if client == release else f", which counts as {client}"
    rows = downgrades_for(client)
    yield f"@ag-ui/client {release}{counts_as}: {_counted(rows)}"
    yield from _rows_lines(rows)
    yield from _guard_lines(client)


def _reader_lines(reader: Reader) -> Iterator[str]:
    rows = reader.downgrades
    besides = sdk_rows(reader.rows)
    yield f"{reader} {_summary(reader)}: {_counted((*rows, *besides))}"
    if reader.limits:
        yield f"No rewriting helps where it {reader.limits}."
    yield from _own_lines(row for row in besides if row.first)
    yield from _rows_lines(rows, reader.rows)
    yield from _own_lines(row for row in besides if not row.first)
    yield from _guard_lines(reader.release)
    if not reader.comments:
        yield "\nNo comment reaches the client, which takes it for an error: those of the agent are removed."


def _own_lines(rows: Iterable[SdkRow]) -> Iterator[str]:
    for row in rows:
        yield f"\n{row.name} (for this SDK)"
        yield f"  Such a client {row.symptom}."
        if row.filter is not None:
            yield f"  {_lost(row)}"
        yield from (f"  {line}" for line in _way_in_lines(row))


def _counted(rows: tuple[Downgrade | SdkRow, ...]) -> str:
    rewritten = sum(row.filter is not None if isinstance(row, SdkRow) else row.rewrites for row in rows)
    left = sum(isinstance(row, Downgrade) and not row.rewrites for row in rows)
    return f"{rewritten} features are rewritten, in this order." + (f" {left} more cannot be." if left else "")


def _rows_lines(rows: tuple[Downgrade, ...], besides: tuple[str, ...] = ()) -> Iterator[str]:
    names = {row.name for row in rows}
    for row in rows:
        yield f"\n{row.name} ({'for this SDK' if row.name in besides else f'read from {row.fixed_in} on'})"
        yield from (f"  {line}" for line in _row_lines(row, names))


def _row_lines(row: Downgrade, names: set[str]) -> Iterator[str]:
    yield f"A release before {row.fixed_in} {row.symptom}."
    if not row.rewrites:
        yield "No rewriting helps: the stream stays as it is."
    yield _lost(row)
    for difference in row.differences:
        yield f"The conversation ends {difference}."
    yield from _way_in_lines(row)
    for other in row.after:
        if other.row in names:
            yield f"After {other.row}: {other.reason}."


def _way_in_lines(row: Downgrade | SdkRow) -> Iterator[str]:
    if row.upgrade is not None:
        yield f"In what the client posts, the middleware {STEPS[row.upgrade]}."


def _lost(row: Downgrade | SdkRow) -> str:
    return f"Lost: {row.loss}." if row.loss else "Nothing is lost."


def _guard_lines(client: ClientVersion) -> Iterator[str]:
    if client < TOLERANT:
        yield f"\nEvent types that {client} does not know are dropped. A release before {TOLERANT} rejects them."
