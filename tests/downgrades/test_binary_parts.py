from typing import Any

import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made


def binary(**members: Any) -> Json:
    return {"type": "binary", "mimeType": "image/png", **members}


def media(type: str = "image", place: str = "url", mime_type: str = "image/png", **members: Any) -> Json:
    return {"type": type, "source": {"type": place, "value": "a", "mimeType": mime_type}, **members}


def snapshot(*parts: Json) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": list(parts)}]}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (binary(url="a"), media()),
        (binary(data="a", url="b", id="c"), media(place="data")),
        (binary(data="", url="a"), media()),
        (binary(url="a", data=None, id=None, filename=None), media()),
        (binary(url="a", mimeType="audio/wav"), media("audio", mime_type="audio/wav")),
        (binary(url="a", mimeType="video/mp4"), media("video", mime_type="video/mp4")),
        (binary(url="a", mimeType="application/pdf"), media("document", mime_type="application/pdf")),
        (binary(url="a", mimeType="image"), media("document", mime_type="image")),
        (binary(url="a", filename="a.png"), media(metadata={"filename": "a.png"})),
    ],
)
def test_a_binary_part_becomes_the_media_part_of_its_kind(client: StartClient, old: Json, new: Json) -> None:
    row = Minimal(client, "binary-parts")
    end = row.proves(snapshot(old), alike=False)
    assert end.messages == snapshot(new)["messages"]
    assert end.messages == row.original("1.0.0", snapshot(old)).messages


@pytest.mark.parametrize("name", [{}, {"filename": "a.png"}])
def test_a_mirror_of_a_media_part_is_left_out(client: StartClient, name: Json) -> None:
    part = media(metadata={"filename": "a.png"})
    end = Minimal(client, "binary-parts").proves(snapshot(binary(url="a", **name), part), alike=False)
    assert end.messages == snapshot(part)["messages"]


@pytest.mark.parametrize("part", [media("audio"), media(place="data"), media(mime_type="image/gif")])
def test_a_media_part_of_something_else_is_mirrored_by_none(client: StartClient, part: Json) -> None:
    end = Minimal(client, "binary-parts").proves(snapshot(binary(url="a"), part), alike=False)
    assert end.messages == snapshot(media(), part)["messages"]


def test_a_binary_part_of_another_name_is_no_mirror(client: StartClient) -> None:
    end = Minimal(client, "binary-parts").proves(snapshot(binary(url="a", filename="b.png"), media()), alike=False)
    assert end.messages == snapshot(media(metadata={"filename": "b.png"}), media())["messages"]


@pytest.mark.parametrize(
    "part", [binary(), binary(id=None), {"type": "binary", "url": "a"}, binary(mimeType=1, id="a")]
)
def test_a_part_that_is_neither_is_left_out(client: StartClient, part: Json, caplog: pytest.LogCaptureFixture) -> None:
    """Before 1.0.0, which leaves it out, a client would reject the run for it."""
    assert Minimal(client, "binary-parts").proves(snapshot(part)).messages == snapshot()["messages"]
    assert losses(caplog, [STARTED, snapshot(part), FINISHED], "0.0.59") == ["binary parts"]


def test_a_part_of_an_id_alone_is_left_to_the_client(client: StartClient) -> None:
    """1.0 has no place for it; all who read it keep it."""
    events = [STARTED, snapshot(binary(id="a")), FINISHED]
    assert made("0.0.59", *events) == made("0.0.41", *events) == events
    assert Minimal(client, "binary-parts").original("0.0.59", events[1]).messages == events[1]["messages"]


@pytest.mark.parametrize("part", [binary(url="a"), binary(data="a", url="b", id="c", filename="d")])
def test_releases_before_media_parts_get_binary_parts_as_they_are(client: StartClient, part: Json) -> None:
    events = [STARTED, snapshot(part), FINISHED]
    assert made("0.0.48", *events) == made("0.0.41", *events) == events
    assert Minimal(client, "binary-parts").original("0.0.41", events[1]).messages == events[1]["messages"]


def test_a_media_part_loses_the_metadata_that_is_null(client: StartClient) -> None:
    end = Minimal(client, "binary-parts").proves(snapshot(media(metadata=None)), alike=False)
    assert end.messages == snapshot(media())["messages"]
