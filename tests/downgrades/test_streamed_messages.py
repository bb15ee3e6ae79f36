"""Reasoning and activities in the snapshots that leave them out, change them, or replace them."""

from typing import Any

import pytest

from agui_middleware import rewrite
from tests.downgrades.cases import stream
from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

USER: Json = {"id": "u", "role": "user", "content": "hi"}
TEXT: list[Json] = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]
SAID: Json = {"id": "m", "role": "assistant", "content": "a"}


def snapshot(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


def echo(*messages: Json) -> Json:
    input_: Json = {"threadId": "t", "runId": "r", "tools": [], "context": [], "messages": list(messages)}
    return {**STARTED, "input": input_}


def reasoned(id: str, *deltas: str) -> list[Json]:
    return [
        {"type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning"},
        *({"type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": delta} for delta in deltas),
        {"type": "REASONING_MESSAGE_END", "messageId": id},
    ]


def reasoning(id: str, content: str, **members: Any) -> Json:
    return {"id": id, "role": "reasoning", "content": content, **members}


def shown(content: Json, id: str = "p", **members: Any) -> Json:
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": id, "activityType": "PLAN", "content": content, **members}


def changed(value: Any, id: str = "p", kind: str = "PLAN") -> Json:
    patch = [{"op": "add", "path": "/step", "value": value}]
    return {"type": "ACTIVITY_DELTA", "messageId": id, "activityType": kind, "patch": patch}


def activity(content: Json, id: str = "p", kind: str = "PLAN") -> Json:
    return {"id": id, "role": "activity", "activityType": kind, "content": content}


ACTIVITIES = ("0.0.41", "0.0.44", "0.0.45")
REASONING = ("0.0.45", "0.0.46", "0.0.49")


def ends_like_1_0_0(client: StartClient, release: str, *events: Json, run: bool = True) -> None:
    row = Minimal(client, "streamed-messages")
    end = row.original(release, *made(release, *((STARTED, *events, FINISHED) if run else events)), run=False)
    assert end.accepted, end.error
    # Up to 0.0.45 messages stand as in the snapshot, whatever the client had.
    assert by_id(end.messages) == by_id(row.original("1.0.0", *events, run=run).messages)


def by_id(messages: list[Json]) -> list[Json]:
    return sorted(messages, key=lambda message: str(message["id"]))


def test_a_snapshot_restates_the_reasoning_that_streamed(client: StartClient) -> None:
    events = [*reasoned("g", "a", "b"), *TEXT, snapshot(SAID)]
    row = Minimal(client, "streamed-messages")
    assert row.proves(*events, alike=False).messages == [reasoning("g", "ab"), SAID]
    assert made("0.0.49", *events)[-1] == snapshot(reasoning("g", "ab"), SAID)


def test_a_snapshot_restates_the_activities_that_streamed(client: StartClient) -> None:
    events = [shown({"step": 1}), changed(2), changed(3, kind="WORK"), *TEXT, snapshot(SAID)]
    assert made("0.0.45", *events)[-3:] == [snapshot(activity({"step": 1}), SAID), changed(2), changed(3, kind="WORK")]
    for release in ACTIVITIES:
        ends_like_1_0_0(client, release, *events)


@pytest.mark.parametrize("release", REASONING)
@pytest.mark.parametrize(
    "events",
    [
        [*TEXT, *reasoned("g", "a"), snapshot(SAID)],
        [*reasoned("g"), snapshot(USER)],
        [*reasoned("g", "a"), *reasoned("g", "b"), *reasoned("h", "c"), *TEXT, snapshot(SAID), snapshot(SAID)],
        [*reasoned("g", "a")[:-1], snapshot(), *reasoned("g", "b")[1:], snapshot()],
        [*reasoned("g", "a"), *TEXT, snapshot(reasoning("h", "b"), SAID), snapshot(SAID)],
        [*reasoned("g", "a"), snapshot(reasoning("g", "b")), *reasoned("g", "c"), snapshot()],
        [
            *reasoned("g", "a"),
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "g", "encryptedValue": "x"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "g", "encryptedValue": "y"},
            snapshot(),
        ],
    ],
)
def test_reasoning_ends_as_in_1_0_0(client: StartClient, release: str, events: list[Json]) -> None:
    ends_like_1_0_0(client, release, *events)


def test_what_is_restated_stands_where_it_streamed() -> None:
    more = [{**event, "messageId": "n"} for event in TEXT]
    after = {**SAID, "id": "n"}
    events = [*TEXT, *reasoned("g", "a"), *more, *reasoned("h", "b"), shown({"a": 1}), snapshot(USER, SAID, after)]
    restated = made("0.0.45", *events)[-1]["messages"]
    assert [message["id"] for message in restated] == ["u", "m", "g", "n", "h", "p"]


@pytest.mark.parametrize("release", ACTIVITIES)
@pytest.mark.parametrize(
    "events",
    [
        [shown({"a": 1}), snapshot(), changed(2), snapshot()],
        [shown({"a": 1}), changed(1), shown({"b": 1}), changed(2), snapshot()],
        [shown({"a": 1}), shown({"b": 1}, replace=False), snapshot()],
        [shown({"a": 1}, replace=False), snapshot()],
        [*TEXT, shown({"a": 1}, "m", replace=False), snapshot(SAID)],
        [*TEXT, shown({"a": 1}, "m"), snapshot(USER)],
        [shown({"a": 1}), changed(1), snapshot(activity({"b": 1})), changed(2), snapshot(), changed(3)],
        [shown({"a": 1}), shown({"b": 1}, "q"), snapshot(activity({"b": 2}, "q")), snapshot()],
        [changed(1), snapshot(USER)],
    ],
)
def test_activities_end_as_in_1_0_0(client: StartClient, release: str, events: list[Json]) -> None:
    ends_like_1_0_0(client, release, *events)


@pytest.mark.parametrize("release", ["0.0.45", "0.0.49"])
def test_an_echo_tells_what_earlier_runs_brought(client: StartClient, release: str) -> None:
    """Only what it tells first: the client knows better what has streamed since."""
    echoed = [USER, reasoning("g", "a"), activity({"a": 1})]
    ends_like_1_0_0(client, release, echo(*echoed), snapshot(USER), FINISHED, run=False)
    again = [echo(reasoning("g", "b")), snapshot(), FINISHED]
    ends_like_1_0_0(client, release, STARTED, *reasoned("g", "a"), FINISHED, *again, run=False)


def test_a_stream_that_was_rewritten_stays_as_it_is() -> None:
    events = [*reasoned("g", "a"), shown({"a": 1}), changed(1), snapshot(USER), changed(2), snapshot(USER)]
    for release in ("0.0.44", "0.0.45", "0.0.49", "0.0.57"):
        assert made(release, *made(release, *events)) == made(release, *events)


def test_too_much_to_keep_is_given_up_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    third = "x" * (4 * 1024 * 1024)
    events = [STARTED, *TEXT, *reasoned("g", third, third), shown({"a": third}), snapshot(SAID), FINISHED]
    assert losses(caplog, events, "0.0.45") == ["streamed messages"]
    assert made("0.0.45", *events)[-2] == snapshot(SAID)
    replaced = [STARTED, *(shown({"a": third}) for _ in range(3)), snapshot(), FINISHED]
    assert losses(caplog, replaced, "0.0.45") == []


@pytest.mark.parametrize(
    "event",
    [
        {"type": "MESSAGES_SNAPSHOT", "messages": None},
        {"type": "MESSAGES_SNAPSHOT", "messages": ["x", {"id": ["m"], "role": "user"}]},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "g", "delta": 1},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": ["g"]},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": ["p"]},
    ],
)
def test_events_that_no_client_reads_are_left_to_it(event: Json) -> None:
    assert made("0.0.45", event) == [event]


def test_a_snapshot_that_changes_an_activity_is_followed_by_an_event(client: StartClient) -> None:
    events = [shown({"a": 1}), snapshot(USER, activity({"b": 1}, kind="WORK"))]
    row = Minimal(client, "activity-updates")
    assert row.proves(*events).messages == row.original("1.0.0", *events).messages
    assert made("0.0.57", *events)[-1] == shown({"b": 1}) | {"activityType": "WORK"}


def test_an_event_that_says_the_same_again_is_dropped() -> None:
    events = [snapshot(activity({"b": 1})), shown({"b": 1})]
    assert made("0.0.57", *events) == events
    assert made("0.0.57", *events, shown({"b": 1})) == [*events, shown({"b": 1})]
    between = [snapshot(activity({"b": 1})), changed(1), shown({"b": 1})]
    assert made("0.0.57", *between) == [between[0], shown({"b": 1}), *between[1:]]


@pytest.mark.parametrize("messages", [None, ["x"], [{"role": "activity"}], [{**activity({}), "id": ["p"]}]])
def test_a_snapshot_without_activities_is_followed_by_nothing(messages: Any) -> None:
    event: Json = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    assert made("0.0.57", event, {**shown({}), "messageId": ["p"]}) == [event, {**shown({}), "messageId": ["p"]}]


@pytest.mark.parametrize("release", ["0.0.45", "0.0.57"])
def test_what_follows_a_snapshot_takes_over_its_sse_fields(release: str) -> None:
    """A reader that resumes behind the id has all that came of the snapshot."""
    events = [shown({"a": 1}), changed(1), snapshot() if release == "0.0.45" else snapshot(activity({"a": 1}))]
    frames = [f"id: {number}\n".encode() + stream(event) for number, event in enumerate(events)]
    written = rewrite(b"".join(frames), client=release).split(b"\n\n")[:-1]
    ids = [frame.split(b"\n")[0] for frame in written if frame.startswith(b"id: ")]
    assert ids == [b"id: 0", b"id: 1", b"id: 2"]
    assert b'"ACTIVITY_' in written[-1]
    assert written[-1].startswith(b"id: 2\n")
    assert not written[-2].startswith(b"id: ")
