from tests.downgrades.minimal import Json, Minimal, StartClient, made

CALL: list[Json] = [
    {"type": "TOOL_CALL_START", "toolCallId": "m", "toolCallName": "look"},
    {"type": "TOOL_CALL_END", "toolCallId": "m"},
]


def chunk(**members: object) -> Json:
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", **members}


def test_a_chunk_of_nothing_but_its_source_is_empty_content(client: StartClient) -> None:
    minimal = Minimal(client, "raw-chunks")
    assert (
        minimal.proves(*CALL, chunk(rawEvent={})).messages
        == minimal.original("1.0.0", *CALL, chunk(rawEvent={})).messages
    )


def test_other_chunks_stay() -> None:
    chunks = [chunk(rawEvent=1, delta="a"), chunk(delta="a"), chunk()]
    assert made("0.0.59", *chunks) == chunks
