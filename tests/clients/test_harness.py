import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients import fixtures
from tests.clients.client import HERE, RELEASES, Client, ClientDiedError, NotInstalledError, Outcome, Run, order
from tests.clients.corpus import frame

StartClient = Callable[[str], Client]
Event = dict[str, Any]

STARTED: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
TEXT: list[Event] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Grüße 😀 \u2028"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]
MESSAGE = {"id": "m", "role": "assistant", "content": "Grüße 😀 \u2028"}
SUBAGENT: list[Event] = [
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "researcher"},
    {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"},
]
REASONING: list[Event] = [{"type": "REASONING_START", "messageId": "g"}, {"type": "REASONING_END", "messageId": "g"}]


def stream(*events: Event) -> bytes:
    # The bytes of the characters themselves, so that a read can end inside one.
    return "".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events).encode()


def outcome(messages: list[dict[str, Any]], state: Any = None) -> Outcome:
    return Outcome(True, None, messages, state, None, None, [])


@pytest.mark.parametrize("release", RELEASES)
def test_text_arrives_however_the_bytes_are_cut(client: StartClient, release: str) -> None:
    body = stream(STARTED, *TEXT, FINISHED)
    whole, bytewise, uneven = client(release).read_many([body, Run(body, chunks=[1]), Run(body, chunks=[101, 3, 7])])
    assert whole.accepted, whole.error
    assert whole.messages == [MESSAGE]
    assert bytewise == uneven == whole


@pytest.mark.parametrize("release", RELEASES)
def test_crlf_frames_are_read_by_no_release(client: StartClient, release: str) -> None:
    end = client(release).read(stream(STARTED, *TEXT, FINISHED).replace(b"\n", b"\r\n"))
    assert not end.accepted
    assert end.messages == []


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_runs_on_its_own_core(client: StartClient, release: str) -> None:
    """Side by side, a release that was given the core of another one would measure the other one's schemas."""
    client(release)
    package = HERE / "node_modules" / f"ag-ui-client-{release}"
    manifest = json.loads((package / "package.json").read_text())
    assert manifest["version"] == release
    for name in ("@ag-ui/core", "@ag-ui/encoder", "@ag-ui/proto"):
        assert resolved(package, name) == manifest["dependencies"][name]


def resolved(package: Path, name: str) -> str:
    """The version Node finds from within a package: the nearest node_modules upwards that has it."""
    nearest = next(
        manifest
        for folder in (package, *package.parents)
        if (manifest := folder / "node_modules" / name / "package.json").is_file()
    )
    return str(json.loads(nearest.read_text())["version"])


def test_subagents_are_no_event_type_of_0_0_58(client: StartClient) -> None:
    """The error lists the types that the release knows, and says no word of the one that it met."""
    end = client("0.0.58").read(stream(STARTED, *TEXT, *SUBAGENT, FINISHED))
    assert not end.accepted
    assert end.error is not None
    [issue] = json.loads(end.error)
    assert issue["path"] == ["type"]
    assert "REASONING_START" in issue["options"]
    assert "SUBAGENT_STARTED" not in issue["options"]


@pytest.mark.parametrize("release", ["0.0.59", "1.0.0"])
def test_subagents_are_read_since_0_0_59(client: StartClient, release: str) -> None:
    end = client(release).read(stream(STARTED, *TEXT, *SUBAGENT, FINISHED))
    assert end.accepted, end.error
    assert end.messages == [MESSAGE]


@pytest.mark.parametrize(("release", "accepted"), [("0.0.44", False), ("0.0.45", True)])
def test_reasoning_is_read_since_0_0_45(client: StartClient, release: str, accepted: bool) -> None:
    assert client(release).read(stream(STARTED, *REASONING, FINISHED)).accepted is accepted


@pytest.mark.parametrize("release", ["0.0.27", "0.0.28", "0.0.30"])
def test_run_that_changes_nothing_is_rejected_up_to_0_0_30(client: StartClient, release: str) -> None:
    end = client(release).read(stream(STARTED, FINISHED))
    assert (end.accepted, end.error) == (False, "no elements in sequence")


@pytest.mark.parametrize("release", RELEASES)
def test_run_error_is_reported_since_0_0_34(client: StartClient, release: str) -> None:
    end = client(release).read(stream(STARTED, *TEXT, {"type": "RUN_ERROR", "message": "boom", "code": "C"}))
    assert end.accepted, end.error
    assert end.run_error == (None if release in RELEASES[:3] else ("boom", "C"))


def test_rejected_run_keeps_what_was_read_before(client: StartClient) -> None:
    end = client("0.0.58").read(stream(STARTED, *TEXT, *SUBAGENT), chunks=[1])
    assert (end.accepted, end.messages) == (False, [MESSAGE])


@pytest.mark.parametrize("release", RELEASES)
def test_run_starts_from_the_messages_and_the_state_of_its_request(client: StartClient, release: str) -> None:
    question = {"id": "u", "role": "user", "content": "q"}
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 2}]}
    first, second = client(release).read_many(
        [Run(stream(STARTED, delta, *TEXT, FINISHED), [question], {"a": 1}), stream(STARTED, *TEXT, FINISHED)]
    )
    assert (first.messages, first.state) == ([question, MESSAGE], {"a": 1, "b": 2})
    assert (second.messages, second.state) == ([MESSAGE], {})


@pytest.mark.parametrize("release", RELEASES)
def test_result_reaches_the_application_since_0_0_34(client: StartClient, release: str) -> None:
    end = client(release).read(stream(STARTED, *TEXT, {**FINISHED, "result": {"x": 1}}))
    assert end.accepted, end.error
    assert end.result == (None if release in RELEASES[:3] else {"x": 1})


@pytest.mark.parametrize("release", RELEASES)
def test_interrupts_reach_the_application_since_0_0_54(client: StartClient, release: str) -> None:
    interrupt = {"id": "i", "reason": "confirmation"}
    suspended = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [interrupt]}}
    end = client(release).read(stream(STARTED, *TEXT, suspended))
    assert end.accepted, end.error
    assert end.interrupts == ([interrupt] if order(release) >= order("0.0.54") else [])


@pytest.mark.parametrize("release", ["0.0.27", "1.0.0"])
def test_stalled_run_ends_by_timeout_and_the_next_one_is_served(client: StartClient, release: str) -> None:
    client(release)  # skips where it is not installed
    with Client(release, timeout=0.3) as impatient:
        stalled, whole = impatient.read_many(
            [Run(stream(STARTED, *TEXT), stalled=True), stream(STARTED, *TEXT, FINISHED)]
        )
    assert (stalled.accepted, stalled.error) == (False, "timeout: not finished after 300 ms")
    assert stalled.messages == [MESSAGE]
    assert whole.accepted


def test_large_answers_and_large_requests_do_not_wait_for_each_other(client: StartClient) -> None:
    messages = [{"id": str(i), "role": "user", "content": "x" * 1000} for i in range(500)]
    bodies = [stream(STARTED, {"type": "MESSAGES_SNAPSHOT", "messages": messages[i:]}, FINISHED) for i in range(5)]
    assert [end.messages for end in client("1.0.0").read_many(bodies)] == [messages[i:] for i in range(5)]


def test_process_that_died_is_reported(client: StartClient) -> None:
    client("1.0.0")
    with Client("1.0.0") as dying:
        dying._process.kill()
        with pytest.raises(ClientDiedError, match=r"1\.0\.0.*-9"):
            dying.read(stream(STARTED, FINISHED))


def test_closing_twice_is_harmless(client: StartClient) -> None:
    client("1.0.0")
    with Client("1.0.0") as closed:
        closed.close()


def test_releases_sort_by_version() -> None:
    releases = ["1.0.0", "1.10.0", "0.0.9", "1.0.0-alpha.1", "0.0.10"]
    assert sorted(releases, key=order) == ["0.0.9", "0.0.10", "1.0.0-alpha.1", "1.0.0", "1.10.0"]


def test_missing_release_names_the_command() -> None:
    with pytest.raises(NotInstalledError, match=r"npm ci --prefix tests/clients"):
        Client("0.0.1")


def test_missing_clients_skip_on_a_laptop_and_fail_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception):
        fixtures.unavailable("reason")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        fixtures.unavailable("reason")


def test_ends_differ_by_type_and_not_by_the_order_of_members() -> None:
    assert outcome([{"id": "m", "role": "user"}]).ends_like(outcome([{"role": "user", "id": "m"}]))
    assert not outcome([], {"a": True}).ends_like(outcome([], {"a": 1}))
    assert not outcome([], {}).ends_like(outcome([], None))


def test_ends_are_alike_up_to_minted_ids() -> None:
    a, b = "05a663de-ea72-48b5-b3a2-e762996ea015", "ae1c9c6a-0e5a-4979-9964-697d741a8f27"
    assert outcome([{"id": a, "answers": a}]).ends_like(outcome([{"id": b, "answers": b}]))
    assert not outcome([{"id": a}, {"id": a}]).ends_like(outcome([{"id": a}, {"id": b}]))
    assert not outcome([{"id": a}, {"id": b}]).ends_like(outcome([{"id": b}, {"id": a}]))


def test_frame_keeps_a_lone_surrogate_readable(client: StartClient) -> None:
    half = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\ud83d"}
    body = "".join(map(frame, [STARTED, TEXT[0], half, TEXT[2], FINISHED])).encode()
    assert client("1.0.0").read(body).messages[0]["content"] == "\ud83d"
