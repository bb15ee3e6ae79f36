"""What is wrong with the streams that the middleware makes for a release, and with how they end there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agui_middleware import ClientVersion
from agui_middleware.downgrades import DOWNGRADES, Downgrade
from tests.clients.client import RELEASES
from tests.downgrades.cases import Case, events_of
from tests.downgrades.proof import Ends, Trial, declared, read_all, rewritten
from tests.strategies import Json

OPENERS = ("TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT")
CONTENTS = ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT")
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")
FIRST_TO_INTERLEAVE = ClientVersion(0, 0, 37)
FIRST_TO_CONTINUE_TEXTS = ClientVersion(0, 0, 44)
Named = tuple[str | None, ...]


class Findings(NamedTuple):
    """On one release, a line for each case that is not as it should be, and each difference that is not there."""

    rejected: list[str]
    ends_otherwise: list[str]
    """With other messages or another state than 1.0.0 on the original, up to the differences that the table declares."""
    without_difference: list[str]
    """Of the rows whose last release this is, the differences without which they would explain as many ends."""
    doubled: list[str]
    changed_again: list[str]
    disordered: list[str]
    closed_otherwise: list[str]


def examine(release: str, cases: Sequence[Case], ends: Ends) -> Findings:
    """What is wrong on a release, with a process of its own to read the cases. Raises NotInstalledError."""
    trials = read_all(release, cases, ends)
    return Findings(
        rejected=[_failure(trial) for trial in trials if not trial.outcome.accepted],
        ends_otherwise=[_failure(trial) for trial in trials if not trial.ends_as_declared(declared(release))],
        without_difference=list(_without_difference(release, trials)),
        doubled=[f"{trial}: {ids}" for trial in trials if (ids := doubled(trial))],
        changed_again=[str(trial) for trial in trials if not _is_fixed(trial)],
        disordered=[str(trial) for trial in trials if not is_in_order(trial.case, trial.stream, release)],
        closed_otherwise=[
            str(trial) for trial in trials if end_of(trial.case.events) != end_of(events_of(trial.stream))
        ],
    )


def _failure(trial: Trial) -> str:
    return f"{trial}: {(trial.outcome.error or '')[:200]}"


def _without_difference(release: str, trials: Sequence[Trial]) -> Iterator[str]:
    for row in (row for row in DOWNGRADES if _last_needing(row) == release):
        explained = [trial for trial in trials if not trial.ends_alike and trial.ends_as_declared(row.differences)]
        for difference in row.differences:
            others = [other for other in row.differences if other is not difference]
            if all(trial.ends_as_declared(others) for trial in explained):
                yield f"{row.name}: {difference}"


def _last_needing(row: Downgrade) -> str:
    since = ClientVersion.parse(row.fixed_in)
    return max((release for release in RELEASES if ClientVersion.parse(release) < since), key=ClientVersion.parse)


def doubled(trial: Trial) -> list[str]:
    """The ids that several messages have, and more than in 1.0.0; of a release that interleaves.

    Not counted are those of the request's own messages, which the middleware does not know; and, where the release makes a
    second message of a text that goes on and that was not opened in its run, the second ones without content.
    """
    release = ClientVersion.parse(trial.release)
    if release < FIRST_TO_INTERLEAVE:
        return []
    known = {message["id"] for message in trial.case.run.messages}
    seen: set[str] = set()
    ids: Counter[str] = Counter()
    for message in trial.outcome.messages:
        empty = release < FIRST_TO_CONTINUE_TEXTS and not message.get("content")
        if message["id"] not in known and not (empty and message["id"] in seen):
            ids[message["id"]] += 1
        seen.add(message["id"])
    reference = Counter(message["id"] for message in trial.expected.messages)
    return [id for id, count in ids.items() if count > max(1, reference[id])]


def _is_fixed(trial: Trial) -> bool:
    """Whether rewriting again changes nothing."""
    return rewritten(trial.stream, trial.release, trial.visibility) == trial.stream


def is_in_order(case: Case, stream: bytes, release: str) -> bool:
    """Whether the texts and calls of a case keep their ids and their order in a stream that was made of it.

    Where they interleave, whatever adds something comes in the order of the input; else, whatever opens something.
    """
    types = CONTENTS if ClientVersion.parse(release) >= FIRST_TO_INTERLEAVE else OPENERS
    before = iter([_named(event) for event in case.expanded if event["type"] in types])
    after = [_named(event) for event in events_of(stream) if event["type"] in types]
    return all(name in before for name in after)  # `in` uses the iterator up


def _named(event: Json) -> Named:
    return event["type"], event.get("messageId"), event.get("toolCallId")


def end_of(events: Sequence[Json]) -> Named:
    """What the end of the last run says, if it ends; its outcome is the business of rows of their own."""
    last = next((event for event in reversed(events) if event["type"] in (*TERMINAL, "RUN_STARTED")), {})
    if last.get("type") == "RUN_STARTED":
        return ()
    return tuple(last.get(name) for name in ("type", "threadId", "runId", "message", "code"))
