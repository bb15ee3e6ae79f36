import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses

TEXT: Json = {"type": "text", "text": "what is "}
MORE: Json = {"type": "text", "text": "this?"}
IMAGE: Json = {"type": "binary", "mimeType": "image/png", "url": "a"}


def snapshot(content: str | list[Json]) -> Json:
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": content}]}


@pytest.mark.parametrize(
    ("parts", "text"),
    [([TEXT, MORE], "what is this?"), ([TEXT, IMAGE, MORE], "what is this?"), ([IMAGE], ""), ([], "")],
)
def test_text_parts_of_a_user_message_are_joined(client: StartClient, parts: list[Json], text: str) -> None:
    end = Minimal(client, "user-parts").proves(snapshot(parts))
    assert end.messages == snapshot(text)["messages"]


def test_media_of_a_user_message_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert losses(caplog, [STARTED, snapshot([TEXT, IMAGE]), FINISHED], "0.0.40") == ["user parts"]
    assert losses(caplog, [STARTED, snapshot([TEXT]), FINISHED], "0.0.40") == []
