import pytest

from tests.downgrades.minimal import FINISHED, STARTED, Json, Minimal, StartClient, losses, made

FAILED: Json = {"type": "RUN_ERROR", "message": "boom"}
AGAIN: Json = {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"}
DONE: Json = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r2"}
START: Json = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
CONTENT: Json = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}
END: Json = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def test_a_failed_run_is_continued_by_the_next(client: StartClient, caplog: pytest.LogCaptureFixture) -> None:
    events = [STARTED, START, CONTENT, END, FAILED, AGAIN, {**START, "messageId": "n"}, {**END, "messageId": "n"}, DONE]
    end = Minimal(client, "runs-after-error").proves(*events, run=False)
    assert [message["id"] for message in end.messages] == ["m", "n"]
    assert made("0.0.58", *events) == [*events[:4], *events[6:]]
    assert losses(caplog, events, "0.0.58") == ["the error of a run that another one follows"]


def test_what_the_failed_run_left_open_is_closed(client: StartClient) -> None:
    opened: list[Json] = [
        {"type": "STEP_STARTED", "stepName": "s"},
        {"type": "REASONING_START", "messageId": "g"},
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"},
        START,
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "look"},
    ]
    closed: list[Json] = [
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        END,
        {"type": "REASONING_MESSAGE_END", "messageId": "g"},
        {"type": "REASONING_END", "messageId": "g"},
        {"type": "STEP_FINISHED", "stepName": "s"},
    ]
    events = [STARTED, *opened, FAILED, AGAIN, *opened, *closed, DONE]
    assert made("0.0.58", *events) == [STARTED, *opened, *closed, *opened, *closed, DONE]
    end = Minimal(client, "runs-after-error").proves(*events, run=False, alike=False)
    assert [message["id"] for message in end.messages] == ["g", "m", "c"]


def test_the_next_run_may_continue_a_text(client: StartClient) -> None:
    events = [STARTED, START, CONTENT, FAILED, AGAIN, START, CONTENT, END, DONE]
    for release in ("0.0.58", "0.0.43"):
        minimal = Minimal(client, "runs-after-error")
        [message] = minimal.reads(release, minimal.rewritten(release, *events[1:-1])).messages
        assert message["content"] == "aa"


def test_an_echo_has_to_have_its_run(client: StartClient) -> None:
    """A failed run can then be read as a finished one only."""
    user: Json = {"id": "u", "role": "user", "content": "hi"}
    echo: Json = {**AGAIN, "input": {"threadId": "t", "runId": "r2", "messages": [user], "tools": [], "context": []}}
    events = [STARTED, START, FAILED, echo, DONE]
    assert made("0.0.58", *events) == [STARTED, START, END, FINISHED, echo, DONE]
    assert Minimal(client, "runs-after-error").proves(*events, run=False, alike=False).messages[-1] == user


@pytest.mark.parametrize("before", [[], [STARTED, FINISHED]])
def test_an_error_outside_a_run_leaves_the_next_run_whole(client: StartClient, before: list[Json]) -> None:
    events = [*before, FAILED, AGAIN, START, END, DONE]
    assert made("0.0.58", *events) == [*before, AGAIN, START, END, DONE]
    assert len(Minimal(client, "runs-after-error").proves(*events, run=False).messages) == 1


@pytest.mark.parametrize("before", [[], [STARTED], [STARTED, START], [STARTED, FINISHED]])
def test_the_last_error_stays(before: list[Json]) -> None:
    assert made("0.0.58", *before, FAILED) == [*before, FAILED]


def test_what_follows_an_error_and_is_no_run_is_left_to_the_client() -> None:
    events = [STARTED, FAILED, START, FAILED, AGAIN, DONE]
    assert made("0.0.58", *events[:4]) == events[:4]
