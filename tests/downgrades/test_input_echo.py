import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

USER: Json = {"id": "u", "role": "user", "content": "hi"}


def echo(*messages: Json, **lists: object) -> Json:
    return {**STARTED, "input": {"threadId": "t", "runId": "r", "messages": list(messages), **lists}}


@pytest.mark.parametrize("lists", [{}, {"tools": []}, {"context": []}])
def test_an_echo_without_lists_gets_empty_ones(client: StartClient, lists: Json) -> None:
    end = Minimal(client, "input-lists").proves(echo(USER, **lists), FINISHED, run=False)
    assert end.messages == [USER]
    assert made("0.0.59", echo(**lists))[0]["input"].keys() >= {"tools", "context"}


def test_lists_that_are_there_stay() -> None:
    tools = [{"name": "look", "description": "", "parameters": {}}]
    events = [echo(tools=tools, context=[]), FINISHED]
    assert made("0.0.59", *events) == events
    assert made("0.0.59", echo(tools=None, context=[])) == [echo(tools=None, context=[])]


def test_releases_that_ignore_the_echo_get_it_as_it_is(client: StartClient, caplog: pytest.LogCaptureFixture) -> None:
    events = [echo(USER, tools=[], context=[]), {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}, FINISHED]
    assert made("0.0.40", *events) == events
    assert losses(caplog, events, "0.0.40") == ["input echo"]
    assert Minimal(client, "input-echo").proves(*events, run=False).messages == []


def test_an_echo_of_no_messages_is_no_loss(caplog: pytest.LogCaptureFixture) -> None:
    assert losses(caplog, [echo(), FINISHED], "0.0.40") == losses(caplog, [STARTED, FINISHED], "0.0.40") == []
