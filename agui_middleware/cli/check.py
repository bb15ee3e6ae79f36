"""`agui-middleware check`."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import IO, Any

import anyio
import click

from agui_middleware.checking import Finding, Report, Unreadable, Verdict
from agui_middleware.checking import check as check_recording
from agui_middleware.cli.parameters import Release
from agui_middleware.filters import SubagentVisibility
from agui_middleware.protocol.releases import ClientVersion


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--client", type=Release(), required=True, help="The release that is to read the stream.")
@click.option(
    "--visibility",
    type=click.Choice(["auto", *map(str, SubagentVisibility)]),
    default="auto",
    show_default=True,
    help="What it sees of subagents behind the middleware.",
)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object instead of text.")
def check(file: IO[bytes], client: ClientVersion | None, visibility: str, as_json: bool) -> None:
    """Say what a release of @ag-ui/client would make of the stream in FILE, by default standard input.

    FILE is a stream of Server-Sent Events as an agent sent it, or one JSON object a line. Told is which event the release
    refuses, what it misreads, and what the middleware would make of the stream.

    Exit status: 0, the release reads the stream as it is; 1, it needs the middleware; 2, the stream cannot be read, or
    holds no event.
    """
    try:
        report = anyio.run(check_recording, file.read(), client, visibility)
        if not report.events:
            raise Unreadable("there is nothing to read: no AG-UI event is in it")
    except Unreadable as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    click.echo(json.dumps(as_members(report)) if as_json else "\n".join(as_text(report)))
    sys.exit(0 if report.verdict is Verdict.READ else 1)


def as_members(report: Report) -> dict[str, Any]:
    """The report as JSON; places are counted from 1."""
    effect = report.effect
    return {
        "client": None if report.client is None else str(report.client),
        "verdict": report.verdict,
        "events": report.events,
        "refused": [_members_of(finding) for finding in report.refused],
        "misread": [_members_of(finding) for finding in report.misread],
        "middleware": None if effect is None else {type: asdict(fates) for type, fates in effect.fates.items()},
        "failure": None if report.failure is None else report.failure["code"],
        "lost": [
            {"shape": loss.feature, "why": loss.reason, "since": loss.fixed_in}
            for loss in (effect.losses if effect else ())
        ],
    }


def _members_of(finding: Finding) -> dict[str, Any]:
    type = None if finding.event is None else finding.event.type
    return {
        "event": finding.place + 1,
        "type": type,
        "shape": finding.feature,
        "why": finding.reason,
        "since": finding.fixed_in,
    }


def as_text(report: Report) -> Iterator[str]:
    """The report for a person, line by line."""
    name = "a client that reads everything" if report.client is None else f"@ag-ui/client {report.client}"
    says = {Verdict.READ: "reads", Verdict.MISREAD: "misreads", Verdict.REFUSED: "refuses"}[report.verdict]
    yield f"{name[0].upper()}{name[1:]} {says} this stream of {report.events} events{' as it is' * (says == 'reads')}."
    if report.refused:
        first, *rest = report.refused
        yield f"\nIt refuses {_line(first)}"
        yield from (f"Without that, {_line(finding)}" for finding in rest)
    if report.misread:
        yield "\nIt reads otherwise than it was meant:"
        yield from (f"  {_line(finding)}" for finding in report.misread)
    yield ""
    yield from _effect_lines(report)


def _line(finding: Finding) -> str:
    type = "" if finding.event is None else f", {finding.event.type}"
    since = "" if finding.fixed_in is None else f" (from {finding.fixed_in} on it is read)"
    return f"event {finding.place + 1}{type}: {finding.feature}: such a release {finding.reason}{since}"


def _effect_lines(report: Report) -> Iterator[str]:
    if report.failure is not None:
        yield f"The middleware would end the run with RUN_ERROR: {report.failure['message']}"
    if report.effect is None:
        return
    if any(finding.feature == "framing" for finding in (*report.refused, *report.misread)):
        yield "The middleware would put the framing right."
    if not report.effect.changes:
        yield "The middleware would leave every event as it is."
    else:
        yield f"The middleware makes of it: {'unchanged':>14}{'changed':>9}{'dropped':>9}{'added':>7}"
        for type, fates in report.effect.fates.items():
            yield f"  {type:<30}{fates.unchanged:>9}{fates.changed:>9}{fates.dropped:>9}{fates.added:>7}"
    if report.effect.losses:
        yield "\nThe client goes without:"
    for loss in report.effect.losses:
        yield f"  {loss.feature}: {loss.reason}" + (f" (from {loss.fixed_in} on it is kept)" if loss.fixed_in else "")
