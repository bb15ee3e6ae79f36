from typing import Any

import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

IMAGE: Json = {"type": "image", "source": {"type": "url", "value": "https://x.example/a.png"}}
CALL: Json = {"id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}


def text(value: str, **members: Any) -> Json:
    return {"type": "text", "text": value, **members}


def answered(result: Any) -> list[Json]:
    return [
        STARTED,
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c", "content": result},
        FINISHED,
    ]


def history(result: Any) -> list[Json]:
    answer = {"id": "t", "role": "tool", "toolCallId": "c", "content": result}
    return [{"id": "a", "role": "assistant", "toolCalls": [CALL]}, answer]


def snapshot(result: Any) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": history(result)}


def echo(result: Any) -> Json:
    lists: Json = {"tools": [], "context": []}
    return {**STARTED, "input": {"threadId": "t", "runId": "r", **lists, "messages": history(result)}}


def test_text_parts_of_a_tool_message_are_joined(client: StartClient) -> None:
    end = Minimal(client, "result-parts").proves(snapshot([text("a"), text("b", id="p")]))
    assert end.messages == history("ab")


def test_text_parts_of_a_result_are_joined() -> None:
    assert made("0.0.59", *answered([text("a"), text("b", id="p")])) == answered("ab")


def test_text_parts_of_an_echoed_tool_message_are_joined() -> None:
    assert made("0.0.59", echo([text("a"), text("b")]), FINISHED) == [echo("ab"), FINISHED]


@pytest.mark.parametrize("parts", [[], [IMAGE]])
def test_a_result_without_text_is_empty(client: StartClient, parts: list[Json]) -> None:
    assert Minimal(client, "result-parts").proves(snapshot(parts)).messages == history("")


def test_media_in_a_result_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert losses(caplog, answered([text("a"), IMAGE]), "0.0.59") == ["result parts"]
    assert losses(caplog, answered([text("a")]), "0.0.59") == []


@pytest.mark.parametrize("content", [["a"], [{"type": "text"}], [{"type": "text", "text": 1}], {}, None, 1])
def test_content_that_no_client_reads_is_left_to_it(content: Any) -> None:
    assert made("0.0.59", *answered(content)) == answered(content)
