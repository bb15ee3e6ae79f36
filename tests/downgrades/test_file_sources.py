import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses

TEXT: Json = {"type": "text", "text": "what is this?"}
FILE: Json = {"type": "document", "source": {"type": "file", "value": "file-7", "provider": "x"}}


def asked(*parts: Json) -> Json:
    return {"id": "u", "role": "user", "content": list(parts)}


def snapshot(*parts: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": [asked(*parts)]}


def echo(*parts: Json) -> Json:
    lists: Json = {"tools": [], "context": []}
    return {**STARTED, "input": {"threadId": "t", "runId": "r", **lists, "messages": [asked(*parts)]}}


def test_a_part_with_a_handle_is_dropped(client: StartClient) -> None:
    assert Minimal(client, "file-sources").proves(snapshot(TEXT, FILE)).messages == [asked(TEXT)]


def test_a_part_with_a_handle_is_dropped_from_an_echo(client: StartClient) -> None:
    end = Minimal(client, "file-sources").proves(echo(TEXT, FILE), FINISHED, run=False)
    assert end.messages == [asked(TEXT)]


def test_a_message_that_is_but_a_handle_stays_empty(client: StartClient) -> None:
    assert Minimal(client, "file-sources").proves(snapshot(FILE)).messages == [asked()]


def test_the_media_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert losses(caplog, [STARTED, snapshot(TEXT, FILE), FINISHED], "0.0.59") == ["file sources"]
    assert losses(caplog, [STARTED, snapshot(TEXT), FINISHED], "0.0.59") == []
