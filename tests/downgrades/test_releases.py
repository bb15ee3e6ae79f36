"""Every case through the middleware into every published release.

Many minutes for all of them: `pytest -m releases`, and one release with `-k 0.0.36`.
"""

from collections import Counter
from collections.abc import Iterable

import pytest

from agui_middleware import ClientVersion, rewrite
from agui_middleware.downgrades import DOWNGRADES, Difference, Downgrade
from tests.clients.client import RELEASES
from tests.downgrades.cases import events_of
from tests.downgrades.projections import PROJECTIONS
from tests.downgrades.proof import StartClient, Trial, declared, read_all
from tests.downgrades.structure_projections import expanded

OPENERS = ("TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT")
CONTENTS = ("TEXT_MESSAGE_CONTENT", "TOOL_CALL_ARGS", "TOOL_CALL_RESULT")
TERMINAL = ("RUN_FINISHED", "RUN_ERROR")
Named = tuple[str | None, ...]

pytestmark = pytest.mark.releases


@pytest.fixture(scope="module", params=RELEASES)
def trials(client: StartClient, request: pytest.FixtureRequest) -> list[Trial]:
    """All cases on one release; pytest runs the tests of one release before those of the next."""
    return read_all(client, request.param)


def failures(trials: Iterable[Trial]) -> list[str]:
    return [f"{trial}: {(trial.outcome.error or '')[:200]}" for trial in trials]


def test_release_accepts_every_case(trials: list[Trial]) -> None:
    assert failures(trial for trial in trials if not trial.outcome.accepted) == []


def test_release_ends_as_its_rows_declare(trials: list[Trial]) -> None:
    """With the messages and the state of 1.0.0 on the original, up to the differences that the table declares."""
    differences = declared(trials[0].release)
    assert failures(trial for trial in trials if not trial.ends_as_declared(differences)) == []


def test_every_declared_difference_is_there(trials: list[Trial]) -> None:
    """Of the rows whose last release this is: without any one of their differences, some case is not as declared."""
    release = trials[0].release
    differences = declared(release)
    differing = [trial for trial in trials if not trial.ends_as_declared(())]
    for row in (row for row in DOWNGRADES if last_needing(row) == release):
        for difference in row.differs:
            others = [other for other in differences if other is not difference]
            assert any(not trial.ends_as_declared(others) for trial in differing), f"{row.name}: {difference}"


def last_needing(row: Downgrade) -> str:
    """The last release that needs a row."""
    since = ClientVersion.parse(row.since)
    return max((release for release in RELEASES if ClientVersion.parse(release) < since), key=ClientVersion.parse)


def test_every_difference_has_a_projection_and_a_row() -> None:
    assert set(PROJECTIONS) == set(Difference)
    assert {difference for row in DOWNGRADES for difference in row.differs} == set(Difference)


def test_no_two_messages_have_one_id(trials: list[Trial]) -> None:
    """From 0.0.37 on, but for what nothing can help: see `twice`."""
    release = ClientVersion.parse(trials[0].release)
    if release >= ClientVersion(0, 0, 37):
        continued = release < ClientVersion(0, 0, 44)
        assert {str(trial): ids for trial in trials if (ids := twice(trial, continued))} == {}


def twice(trial: Trial, continued: bool) -> list[str]:
    """The ids that several messages have, and more than in 1.0.0.

    Not counted are those of the request's own messages, which the middleware does not know; those that the stream gives
    to a message and to a tool call; and, where the release makes a second message of a text that is `continued` and that
    was not opened in its run, the second ones without content.
    """
    known = {message["id"] for message in trial.case.run.messages}
    calls = {event.get("toolCallId") for event in trial.case.events}
    seen: set[str] = set()
    ids: Counter[str] = Counter()
    for message in trial.outcome.messages:
        empty = continued and not message.get("content")
        if message["id"] not in known | calls and not (empty and message["id"] in seen):
            ids[message["id"]] += 1
        seen.add(message["id"])
    reference = Counter(message["id"] for message in trial.expected.messages)
    return [id for id, count in ids.items() if count > max(1, reference[id])]


def test_rewriting_again_changes_nothing(trials: list[Trial]) -> None:
    release = trials[0].release
    again = (rewrite(trial.stream, client=release, visibility=trial.visibility) for trial in trials)
    assert [str(trial) for trial, stream in zip(trials, again, strict=True) if stream != trial.stream] == []


def test_texts_and_calls_keep_their_ids_and_their_order(trials: list[Trial]) -> None:
    """From 0.0.37 on, whatever adds something comes in the order of the input; before, whatever opens something."""
    types = CONTENTS if ClientVersion.parse(trials[0].release) >= ClientVersion(0, 0, 37) else OPENERS
    for trial in trials:
        before = [named(event) for event in expanded(trial.case) if event["type"] in types]
        after = [named(event) for event in events_of(trial.stream) if event["type"] in types]
        assert is_subsequence(after, before), str(trial)


def is_subsequence(some: list[Named], all_: list[Named]) -> bool:
    rest = iter(all_)
    return all(item in rest for item in some)  # `in` uses the iterator up


def named(event: dict[str, str]) -> Named:
    return event["type"], event.get("messageId"), event.get("toolCallId")


def test_a_stream_ends_as_it_did(trials: list[Trial]) -> None:
    for trial in trials:
        before, after = (last_terminal(events) for events in (trial.case.events, events_of(trial.stream)))
        assert before == after, str(trial)


def last_terminal(events: list[dict[str, str]]) -> Named:
    """What the end of the last run says, if it ends; its outcome is the business of rows of their own."""
    last = next((event for event in reversed(events) if event["type"] in (*TERMINAL, "RUN_STARTED")), {})
    if last.get("type") == "RUN_STARTED":
        return ()
    return tuple(last.get(name) for name in ("type", "threadId", "runId", "message", "code"))
