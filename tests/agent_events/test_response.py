import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from ag_ui.core import RunAgentInput
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message, Scope

import agui_middleware.agent_events as package
from agui_middleware import AGUIMiddleware
from agui_middleware.agent_events import (
    AgentEvent,
    AgentEventResponse,
    Done,
    RunOutcome,
    TextDelta,
    ToolCall,
    agent_endpoint,
)
from tests.agent_events.loops import FINISHED, loop, stream

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
BODY = {"threadId": "t1", "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": "hello"}]}


async def echo(request: RunAgentInput) -> AsyncIterator[AgentEvent]:
    [message] = request.messages
    yield TextDelta(text=str(message.content))
    yield FINISHED


async def post(content: bytes, **options: Any) -> httpx.Response:
    app = Starlette(routes=[Route("/agent", agent_endpoint(echo, **options), methods=["POST"])])
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.post("/agent", content=content)


async def test_endpoint_answers_with_the_run_of_the_loop() -> None:
    response = await post(json.dumps(BODY | {"parentRunId": "r0"}).encode(), headers={"x-own": "1"})
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["x-own"] == "1"
    assert b"\r" not in response.content
    frames = response.content.split(b"\n\n")
    assert frames.pop() == b""
    events = [json.loads(frame.removeprefix(b"data: ")) for frame in frames]
    assert events[0] == {
        "type": "RUN_STARTED",
        "threadId": "t1",
        "runId": "r1",
        "protocolVersion": "1.0",
        "parentRunId": "r0",
    }
    assert events[2]["delta"] == "hello"
    assert events[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        (b"", []),
        (b"{", []),
        (b"\xff", []),
        (b"[" * 100_000, []),
        (b'"secret"', []),
        (json.dumps(BODY | {"runId": None}).encode(), ["runId"]),
        (json.dumps({"threadId": "t", "runId": "r"}).encode(), ["messages"]),
        (
            json.dumps(BODY | {"messages": [{"id": "m", "role": "user", "content": 7}]}).encode(),
            ["messages", 0, "user"],
        ),
    ],
    ids=["empty", "cut", "bytes", "deep", "string", "null", "missing", "content"],
)
async def test_malformed_request_is_422_and_says_where(body: bytes, loc: list[str | int]) -> None:
    response = await post(body)
    assert response.status_code == 422
    problem = response.json()["detail"][0]
    assert problem["loc"][: len(loc)] == loc
    assert problem["msg"]
    assert "secret" not in response.text


@pytest.mark.parametrize("text", ["a\r\nb\n\nc\rd", "\u2028\u0085\x00", "\N{PILE OF POO}", "data: {}\n\n"])
def test_text_stays_within_its_frame(text: str) -> None:
    frame = stream([TextDelta(text=text)]).split(b"\n\n")[2]
    assert b"\n" not in frame
    assert b"\r" not in frame
    assert json.loads(frame.removeprefix(b"data: "))["delta"] == text


def test_half_an_emoji_leaves_as_an_escape() -> None:
    """A token may end between the two halves; clients join them again."""
    frames = stream([TextDelta(text="\ud83d"), TextDelta(text="\udca9"), ToolCall(id="c", name="t", input="\ud83d")])
    assert rb'"delta":"\ud83d"' in frames
    assert rb'"delta":"\udca9"' in frames
    assert b"\xed" not in frames


async def test_ping_is_a_comment_with_the_same_line_ends() -> None:
    pinged = asyncio.Event()
    sent: list[bytes] = []

    async def waiting() -> AsyncIterator[AgentEvent]:
        await pinged.wait()
        yield FINISHED

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))
        if sent[-1].startswith(b":"):
            pinged.set()

    with anyio.fail_after(10):
        response = AgentEventResponse(waiting(), thread_id="t", run_id="r", ping=0.01)
        await response(SCOPE, never, send)
    pings = [body for body in sent if body.startswith(b":")]
    assert pings
    assert all(ping.endswith(b"\n\n") and b"\r" not in ping for ping in pings)


async def never() -> Message:
    await anyio.sleep_forever()
    raise AssertionError("slept forever")


@pytest.mark.parametrize("spoken", [0, 1])
async def test_leaving_client_closes_the_loop_where_it_waits(spoken: int) -> None:
    """The client leaves once the loop waits; the response returns only after the loop is closed."""
    waits = asyncio.Event()
    closed: list[str] = []

    async def waiting() -> AsyncIterator[AgentEvent]:
        try:
            for _ in range(spoken):
                yield TextDelta(text="a")
            waits.set()
            await asyncio.Event().wait()
        finally:
            closed.append("loop")

    async def receive() -> Message:
        await waits.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        pass

    with anyio.fail_after(10):
        await AgentEventResponse(waiting(), thread_id="t", run_id="r")(SCOPE, receive, send)
    assert closed == ["loop"]


async def test_leaving_client_closes_the_loop_while_an_event_is_on_its_way() -> None:
    sending = asyncio.Event()
    closed: list[str] = []

    async def speaking() -> AsyncIterator[AgentEvent]:
        try:
            yield TextDelta(text="a")
            raise AssertionError("nobody takes the first event")
        finally:
            await asyncio.sleep(0)  # closing takes a turn of the event loop, as real clean-up does
            closed.append("loop")

    async def receive() -> Message:
        await sending.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if b"TEXT_MESSAGE_START" in message.get("body", b""):
            sending.set()
            await asyncio.Event().wait()

    with anyio.fail_after(10):
        await AgentEventResponse(speaking(), thread_id="t", run_id="r")(SCOPE, receive, send)
    assert closed == ["loop"]


async def test_leaving_client_closes_the_loop_behind_the_middleware() -> None:
    waits = asyncio.Event()
    closed: list[str] = []

    async def waiting() -> AsyncIterator[AgentEvent]:
        try:
            yield TextDelta(text="a")
            waits.set()
            await asyncio.Event().wait()
        finally:
            closed.append("loop")

    async def receive() -> Message:
        await waits.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        pass

    scope = {**SCOPE, "query_string": b"", "headers": [(b"x-ag-ui-client-version", b"0.0.36")]}
    with anyio.fail_after(10):
        await AGUIMiddleware(AgentEventResponse(waiting(), thread_id="t", run_id="r"))(scope, receive, send)
    assert closed == ["loop"]


async def test_cancelling_the_request_closes_the_loop() -> None:
    waits = asyncio.Event()
    closed: list[str] = []

    async def waiting() -> AsyncIterator[AgentEvent]:
        try:
            yield TextDelta(text="a")
            waits.set()
            await asyncio.Event().wait()
        finally:
            closed.append("loop")

    async def send(message: Message) -> None:
        pass

    with anyio.fail_after(10):
        response = AgentEventResponse(waiting(), thread_id="t", run_id="r")
        request = asyncio.create_task(response(SCOPE, never, send))
        await waits.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
    assert closed == ["loop"]


async def test_first_event_leaves_before_the_loop_says_a_second() -> None:
    seen = asyncio.Event()

    async def answering() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="first")
        await seen.wait()
        yield Done(outcome=RunOutcome(status="finished"))

    async def send(message: Message) -> None:
        if b"first" in message.get("body", b""):
            seen.set()

    with anyio.fail_after(10):
        await AgentEventResponse(answering(), thread_id="t", run_id="r")(SCOPE, never, send)


def test_response_runs_on_trio() -> None:
    sent: list[bytes] = []

    async def speaking() -> AsyncIterator[AgentEvent]:
        await anyio.lowlevel.checkpoint()
        yield FINISHED

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    async def respond() -> None:
        await AgentEventResponse(speaking(), thread_id="t", run_id="r")(SCOPE, never, send)

    anyio.run(respond, backend="trio")
    assert b"RUN_FINISHED" in b"".join(sent)


async def test_loop_that_raises_is_raised_after_the_client_was_told() -> None:
    sent: list[bytes] = []

    async def raising() -> AsyncIterator[AgentEvent]:
        yield TextDelta(text="a")
        raise LookupError("secret")

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    with pytest.raises(LookupError):
        await AgentEventResponse(raising(), thread_id="t", run_id="r")(SCOPE, never, send)
    assert b'"AGENT_FAILED"' in sent[-1]
    assert b"secret" not in b"".join(sent)


async def test_separator_cannot_be_chosen() -> None:
    with pytest.raises(TypeError, match="sep"):
        AgentEventResponse(loop([]), thread_id="t", run_id="r", sep="\r\n")


def test_response_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sse_starlette", None)
    monkeypatch.delitem(sys.modules, "agui_middleware.agent_events.response")
    monkeypatch.delattr(package, "response")
    with pytest.raises(ImportError, match=r"pip install 'agui-middleware\[agents\]'"):
        _ = package.AgentEventResponse


def test_translator_needs_no_extra() -> None:
    code = "import sys; sys.modules['sse_starlette'] = sys.modules['ag_ui'] = None; import agui_middleware.agent_events"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_translator_does_not_import_what_changes_the_server() -> None:
    code = "import sys, agui_middleware.agent_events; print('sse_starlette' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


@pytest.mark.parametrize("name", package.__all__)
def test_public_name_is_there(name: str) -> None:
    assert getattr(package, name) is not None


def test_other_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="AgentEvents"):
        _ = package.AgentEvents
