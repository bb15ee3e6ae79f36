from tests.downgrades.minimal import Json, Minimal, StartClient


def chunk(delta: str, owner: str, **members: str) -> Json:
    return {"type": "TEXT_MESSAGE_CHUNK", "delta": delta, "subagentRunId": owner, **members}


PARALLEL = [chunk("a", "s", messageId="m"), chunk("b", "t", messageId="n"), chunk("c", "s"), chunk("d", "t")]


def test_the_chunks_of_parallel_subagents_stay_apart(client: StartClient) -> None:
    minimal = Minimal(client, "chunks")
    expected = [(message["id"], message["content"]) for message in minimal.original("1.0.0", *PARALLEL).messages]
    assert expected == [("m", "ac"), ("n", "bd")]
    for release in ("0.0.58", "0.0.43", "0.0.36", "0.0.27"):
        end = minimal.reads(release, minimal.rewritten(release, *PARALLEL))
        assert [(message["id"], message["content"]) for message in end.messages] == expected
    mixed = minimal.original("0.0.58", *PARALLEL)
    assert [message["content"] for message in mixed.messages] != ["ac", "bd"]


def test_chunks_are_read_as_they_are_from_0_0_59_on(client: StartClient) -> None:
    minimal = Minimal(client, "chunks")
    assert [message["content"] for message in minimal.original("0.0.59", *PARALLEL).messages] == ["ac", "bd"]
    assert minimal.rewritten("0.0.59", *PARALLEL) == minimal.rewritten("1.0.0", *PARALLEL)


def test_chunks_of_reasoning_are_expanded(client: StartClient) -> None:
    events: list[Json] = [
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "g", "delta": "a"},
        {"type": "REASONING_MESSAGE_CHUNK", "delta": "b"},
    ]
    minimal = Minimal(client, "chunks")
    for release in ("0.0.58", "0.0.45"):
        [message] = minimal.reads(release, minimal.rewritten(release, *events)).messages
        assert message == {"id": "g", "role": "reasoning", "content": "ab"}
    assert minimal.reads("0.0.44", minimal.rewritten("0.0.44", *events)).accepted
