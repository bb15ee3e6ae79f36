import pytest

from agui_middleware import rewrite
from tests.clients.client import RELEASES
from tests.downgrades.cases import stream
from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, made

AGAIN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}
DONE: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r2", "result": 2}


def text(id: str) -> list[Json]:
    start: Json = {"type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant"}
    return [start, {"type": "TEXT_MESSAGE_END", "messageId": id}]


def test_the_runs_of_a_stream_become_one(client: StartClient) -> None:
    events = [STARTED, *text("m"), FINISHED, AGAIN, *text("n"), DONE]
    end = Minimal(client, "several-runs").proves(*events, run=False)
    assert [message["id"] for message in end.messages] == ["m", "n"]
    assert end.result == 2
    assert made("0.0.36", *events) == [STARTED, *text("m"), *text("n"), DONE]


def test_a_run_after_a_failed_one_and_one_after_a_finished_and_failed_one(client: StartClient) -> None:
    failed: Json = {"type": "RUN_ERROR", "message": "boom"}
    events = [STARTED, *text("m"), failed, AGAIN, *text("n"), DONE, failed, AGAIN, *text("o"), DONE]
    assert made("0.0.36", *events) == [STARTED, *text("m"), *text("n"), *text("o"), DONE]
    minimal = Minimal(client, "several-runs")
    assert len(minimal.reads("0.0.36", rewrite(stream(*events), client="0.0.36")).messages) == 3


def test_an_error_may_follow_the_end() -> None:
    failed: Json = {"type": "RUN_ERROR", "message": "boom"}
    events = [STARTED, *text("m"), FINISHED, failed]
    assert made("0.0.36", *events) == events


def test_a_last_run_that_breaks_off_has_no_end() -> None:
    """No end of an earlier run is taken for it."""
    assert made("0.0.36", STARTED, *text("m"), FINISHED, AGAIN, *text("n")) == [STARTED, *text("m"), *text("n")]


@pytest.mark.parametrize("end", [FINISHED, {"type": "RUN_ERROR", "message": "boom"}])
@pytest.mark.parametrize("unreadable", [b'{"type":', b'{"type":"RAW","event":%b%b}' % (b"[" * 30_000, b"]" * 30_000)])
def test_what_cannot_be_read_does_not_overtake_the_end_of_a_run(
    client: StartClient, end: Json, unreadable: bytes
) -> None:
    """RAW, nested too deep for the middleware, left in front of the end, and clients read it: behind it none does."""
    sent = stream(STARTED, end) + b"data: %b\n\n" % unreadable
    for release in RELEASES:
        made = rewrite(sent, client=release)
        assert made.endswith(sent[len(stream(STARTED)) :])
        bare, rewritten = client(release).read_many([sent, made])
        assert not bare.accepted
        assert not rewritten.accepted


def test_the_end_of_a_run_that_has_left_is_not_dropped_with_the_next_run() -> None:
    sent = stream(STARTED, FINISHED) + b'data: {"type":\n\n' + stream(AGAIN, DONE)
    assert rewrite(sent, client="0.0.36") == sent
