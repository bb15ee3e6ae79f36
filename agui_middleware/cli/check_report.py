"""The report of `agui-middleware check`, as text and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from agui_middleware.checking import Finding, Report, Verdict
from agui_middleware.checking.effect import Effect
from agui_middleware.protocol.releases import RELEASES

_VERBS: Final = {Verdict.READ: "reads", Verdict.MISREAD: "misreads", Verdict.REFUSED: "refuses"}


def as_members(report: Report) -> dict[str, Any]:
    """The members of the JSON object; `cli/README.md` describes them. Events are counted from 1."""
    effect = report.effect
    return {
        "client": None if report.client is None else str(report.client),
        "reader": None if report.reader is None else report.reader.name,
        "verdict": report.verdict,
        "events": report.events,
        "refused": [_finding_members(finding) for finding in report.refused],
        "misread": [_finding_members(finding) for finding in report.misread],
        "causes": [cause._asdict() for cause in report.causes],
        "helped": report.helped,
        "remedies": report.remedies,
        "middleware": None if effect is None else {type: asdict(fates) for type, fates in effect.fates.items()},
        "failure": None if report.failure is None else report.failure["code"],
        "lost": [
            {"feature": loss.feature, "reason": loss.reason, "fixed_in": loss.fixed_in}
            for loss in (effect.losses if effect else ())
        ],
    }


def _finding_members(finding: Finding) -> dict[str, Any]:
    return {
        "event": finding.place + 1,
        "type": None if finding.event is None else finding.event.type,
        "feature": finding.feature,
        "reason": finding.reason,
        "fixed_in": finding.fixed_in,
    }


def as_text(report: Report) -> Iterator[str]:
    """The lines of the text."""
    name = _client_name(report)
    if report.reader is not None:
        yield (
            f"{report.reader} is judged as @ag-ui/client {report.client}, which it reads like, and by its own rows: "
            "what they change is reported as misread, though its decoder may read some of it."
        )
        yield ""
    as_is = " as it is" if report.verdict is Verdict.READ else ""
    yield f"{name} {_VERBS[report.verdict]} this stream of {_counted(report.events, 'event')}{as_is}."
    if report.refused:
        first, *rest = report.refused
        yield ""
        yield f"It refuses {_finding_line(first)}"
        yield from (f"Without that, {_finding_line(finding)}" for finding in rest)
    if report.misread:
        yield ""
        yield "It misreads:"
        yield from (f"  {_finding_line(finding)}" for finding in report.misread)
    if report.causes:
        yield ""
        yield "Without an error, the client loses something:" if report.verdict is Verdict.READ else "Usual causes:"
        for cause in report.causes:
            yield f"  {cause.name}: {cause.text}"
            yield f"    What helps: {cause.cure}"
    yield ""
    yield from _help_lines(report, name)
    if report.effect is not None:
        yield from _effect_lines(report.effect)


def _client_name(report: Report) -> str:
    if report.reader is not None:
        return report.reader.name
    if report.client is None:
        return f"The newest release, @ag-ui/client {RELEASES[-1]},"
    return f"@ag-ui/client {report.client}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _finding_line(finding: Finding) -> str:
    type = "" if finding.event is None else f", {finding.event.type}"
    fixed = "" if finding.fixed_in is None else f" ({finding.fixed_in} and later read it)"
    return f"event {finding.place + 1}{type}: {finding.feature}: this release {finding.reason}{fixed}"


def _help_lines(report: Report, name: str) -> Iterator[str]:
    """Whether the middleware helps."""
    if report.failure is not None:
        yield f"The middleware would end the run with RUN_ERROR: {report.failure['message']}"
    if report.helped is None:
        return
    if report.helped:
        yield f"Behind the middleware, {name.rstrip(',')} reads it."
        return
    yield f"The middleware does not help: behind it, {name.rstrip(',')} does not read the stream either."
    yield from (f"It does with the filter {remedy} on the route." for remedy in report.remedies)


def _effect_lines(effect: Effect) -> Iterator[str]:
    if effect.changes:
        yield f"The middleware makes of it: {'unchanged':>14}{'changed':>9}{'dropped':>9}{'added':>7}"
        for type, fates in effect.fates.items():
            yield f"  {type:<30}{fates.unchanged:>9}{fates.changed:>9}{fates.dropped:>9}{fates.added:>7}"
    else:
        yield "The middleware leaves every event as it is."
    if effect.losses:
        yield ""
        yield "The client goes without:"
    for loss in effect.losses:
        kept = f" ({loss.fixed_in} and later keep it)" if loss.fixed_in else ""
        yield f"  {loss.feature}: {loss.reason}{kept}"
