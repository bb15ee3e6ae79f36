from typing import Any

import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

TEXT: Json = {"type": "text", "text": "what is this?"}


def media(type: str = "image", place: str = "url", **source: Any) -> Json:
    return {"type": type, "source": {"type": place, "value": "a", **source}}


def binary(mime_type: str = "image/*", **members: Any) -> Json:
    return {"type": "binary", "mimeType": mime_type, **members}


def snapshot(*parts: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": list(parts)}]}


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (media(mimeType="image/png"), binary("image/png", url="a")),
        (media(place="data", mimeType="image/png"), binary("image/png", data="a")),
        (media(), binary(url="a")),
        (media("audio"), binary("audio/*", url="a")),
        (media("video"), binary("video/*", url="a")),
        (media("document"), binary("application/octet-stream", url="a")),
        (media() | {"metadata": {"filename": "a.png"}}, binary(url="a", filename="a.png")),
    ],
)
def test_a_media_part_becomes_a_binary_part(client: StartClient, new: Json, old: Json) -> None:
    end = Minimal(client, "media-parts").proves(snapshot(TEXT, new))
    assert end.messages == snapshot(TEXT, old)["messages"]


def test_media_in_an_echo_become_binary_parts(client: StartClient) -> None:
    lists: Json = {"tools": [], "context": []}
    input_ = {"threadId": "t", "runId": "r", **lists, "messages": snapshot(media())["messages"]}
    end = Minimal(client, "media-parts").proves({**STARTED, "input": input_}, FINISHED, run=False)
    assert end.messages == snapshot(binary(url="a"))["messages"]


def test_a_part_without_a_value_is_dropped(client: StartClient) -> None:
    """A binary part needs something to point at."""
    end = Minimal(client, "media-parts").proves(snapshot(TEXT, media(value="")))
    assert end.messages == snapshot(TEXT)["messages"]


@pytest.mark.parametrize("metadata", [{"alt": "a"}, {"filename": "a.png", "alt": "a"}, {"filename": 1}, "a", 0])
def test_what_a_binary_part_cannot_say_is_reported(caplog: pytest.LogCaptureFixture, metadata: Any) -> None:
    assert losses(caplog, [STARTED, snapshot({**media(), "metadata": metadata}), FINISHED], "0.0.48") == [
        "media metadata"
    ]


@pytest.mark.parametrize("metadata", [{}, {"filename": "a.png"}])
def test_what_a_binary_part_can_say_is_not(caplog: pytest.LogCaptureFixture, metadata: Any) -> None:
    assert losses(caplog, [STARTED, snapshot({**media(), "metadata": metadata}), FINISHED], "0.0.48") == []


@pytest.mark.parametrize(
    "part", [media(value=1), media(mimeType=None), {"type": "image"}, {"type": "image", "source": 1}]
)
def test_a_part_that_no_client_reads_is_left_to_it(part: Json) -> None:
    events = [STARTED, snapshot(part), FINISHED]
    assert made("0.0.48", *events) == events
