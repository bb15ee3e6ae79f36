import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses

USER: Json = {"id": "u", "role": "user", "content": "hi"}
ACTIVITY: Json = {"id": "p", "role": "activity", "activityType": "PLAN", "content": {}}
SNAPSHOT: Json = {"type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN", "content": {}}
DELTA: Json = {"type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "PLAN", "patch": []}


def history(*messages: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


@pytest.mark.parametrize(
    "events", [[history(USER), SNAPSHOT, DELTA], [history(USER), DELTA], [history(USER, ACTIVITY)]]
)
def test_activities_are_dropped(client: StartClient, caplog: pytest.LogCaptureFixture, events: list[Json]) -> None:
    assert Minimal(client, "activities").proves(*events).messages == [USER]
    assert losses(caplog, [STARTED, *events, FINISHED], "0.0.40") == ["activities"]


def test_a_snapshot_without_activities_stays(caplog: pytest.LogCaptureFixture) -> None:
    assert losses(caplog, [STARTED, history(USER), FINISHED], "0.0.40") == []
