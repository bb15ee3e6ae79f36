"""What the demo serves, in process."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.requests import ClientDisconnect

import agui_middleware.demo
from agui_middleware.agent_events import AgentEvent, Done, RunOutcome, TextDelta, TurnStart
from agui_middleware.demo import server
from agui_middleware.demo.sample_agent import Sample
from agui_middleware.demo.server import MAX_BYTES, READERS, make_app
from agui_middleware.protocol.releases import RELEASES
from agui_middleware.testing import encode_events
from tests.robustness.exchange import BODY, Exchange

STATIC = Path(agui_middleware.demo.__file__).parent / "static"
APP = make_app(Sample(0).run)
RUN = b'{"threadId":"t","runId":"r","messages":[]}'
LOCAL = (b"host", b"localhost:8000")
JSON, TEXT = [LOCAL, (b"content-type", b"application/json")], [LOCAL, (b"content-type", b"text/plain")]


def records(exchange: Exchange) -> list[Any]:
    frames = exchange.body.split(b"\n\n")[:-1]
    return [json.loads(frame.removeprefix(b"data: ")) for frame in frames]


def status(exchange: Exchange) -> int:
    return int(exchange.sent[0]["status"])


def headers(exchange: Exchange) -> dict[bytes, bytes]:
    return dict(exchange.sent[0]["headers"])


async def trace(recording: bytes | None = None, query: bytes = b"client=0.0.58") -> Exchange:
    given = {"headers": JSON} if recording is None else {"headers": TEXT, "body": [recording]}
    return await Exchange("/trace", query=query, **given).run(APP)


@pytest.mark.parametrize("path", ["/", "/options", "/agent", "/trace"])
@pytest.mark.parametrize("host", [b"evil.example", b"127.0.0.1.evil.example:80", b"", None])
async def test_another_host_is_refused(path: str, host: bytes | None) -> None:
    """DNS rebinding: a site whose name comes to mean this machine."""
    exchange = await Exchange(path, headers=[] if host is None else [(b"host", host)]).run(APP)
    assert status(exchange) == 400


@pytest.mark.parametrize("host", [b"127.0.0.1", b"127.0.0.1:8000", b"localhost", b"localhost:8000"])
async def test_this_machine_is_answered(host: bytes) -> None:
    assert status(await Exchange("/options", method="GET", headers=[(b"host", host)]).run(APP)) == 200


async def test_the_sample_is_traced() -> None:
    exchange = await trace()
    assert headers(exchange)[b"content-type"].startswith(b"text/event-stream")
    plan, *events, end = records(exchange)
    types = [json.loads(event["input"])["type"] for event in events if event.get("input")]
    assert plan["summary"] == "client=0.0.58; subagents=inline"
    assert types.count("SUBAGENT_STARTED") == 4
    assert types.count("SUBAGENT_ERROR") == 1
    assert (types[0], types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert any("rejection" in event for event in events)
    assert "losses" in end


async def test_a_run_that_asks_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PACE", 0)
    read = records(await trace(query=b"client=0.0.53&source=paused"))
    written = [json.loads(output) for record in read for output in record.get("outputs", ())]
    [asked] = [event for event in written if event["type"] == "CUSTOM"]
    [turn] = [record["turn"] for record in read if "turn" in record]
    assert asked["value"]["message"] == "Pay the deposit?"
    assert json.loads(turn["answer"]["posted"])["forwardedProps"]["command"]["interruptEvent"] == asked["value"]
    assert json.loads(turn["answer"]["given"])["resume"][0]["interruptId"] == "deposit"


async def test_a_trace_logs_no_warning_about_an_unnamed_stream(caplog: pytest.LogCaptureFixture) -> None:
    await trace(encode_events([{"type": "RAW", "event": 1}]))
    assert caplog.records == []


async def test_a_recording_is_traced() -> None:
    event = {"type": "RAW", "event": 2**60}
    assert [record["input"] for record in records(await trace(encode_events([event]))) if "input" in record] == [
        '{"type":"RAW","event":1152921504606846976}'
    ]


@pytest.mark.parametrize(
    ("recording", "query", "said"),
    [
        (b"hello", b"", "no stream of AG-UI events"),
        (b"x" * (MAX_BYTES + 1), b"", "larger than 5 MiB"),
        (b"", b"client=0.0.58", "is empty"),
        (None, b"client=0.0.1", "client is one of current, 1.0.0, 0.0.59"),
        (None, b"visibility=no", "visibility is one of auto, attributed, inline, hidden"),
        (None, b"source=no", "source is one of sample, paused"),
    ],
)
async def test_what_cannot_be_traced_is_said(recording: bytes | None, query: bytes, said: str) -> None:
    exchange = await trace(recording, query)
    assert status(exchange) == 422
    assert said in json.loads(exchange.body)["error"]


async def test_the_page_may_choose_every_release_and_sdk() -> None:
    exchange = await Exchange("/options", method="GET", headers=[LOCAL]).run(APP)
    options = json.loads(exchange.body)
    assert options["clients"] == ["current", *map(str, reversed(RELEASES)), *READERS]
    assert "ag_ui@0.2.0" in READERS
    assert "ag-ui-client@0.1.0" not in READERS  # which is refused
    assert options["visibilities"] == ["auto", "attributed", "inline", "hidden"]


@pytest.mark.parametrize("path", ["/", *(f"/{file.name}" for file in sorted(STATIC.iterdir()))])
async def test_every_file_is_served_and_runs_nothing_but_ours(path: str) -> None:
    exchange = await Exchange(path, method="GET", headers=[LOCAL]).run(APP)
    assert status(exchange) == 200
    policy = headers(exchange)[b"content-security-policy"]
    assert policy.startswith(b"default-src 'none'; script-src 'self'; style-src 'self'")
    assert b"unsafe" not in policy
    assert exchange.body == (STATIC / (path[1:] or "index.html")).read_bytes()


@pytest.mark.parametrize("file", sorted(STATIC.iterdir()), ids=lambda file: file.name)
def test_no_file_asks_another_server_or_writes_markup(file: Path) -> None:
    source = file.read_text().replace("http://www.w3.org/2000/svg", "")
    for word in ("http:", "https:", "//cdn", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in source


async def served(path: str, release: bytes = b"0.0.58") -> list[str]:
    exchange = Exchange(path, headers=[*JSON, (b"x-ag-ui-client-version", release)], body=[RUN])
    return (await exchange.run(APP)).types


async def test_the_agent_is_served_too() -> None:
    assert "SUBAGENT_STARTED" in await served("/agent", b"1.0.0")
    assert "SUBAGENT_STARTED" not in await served("/agent")
    assert "SUBAGENT_STARTED" not in await served("/public", b"1.0.0")
    assert "SUBAGENT_STARTED" in await served("/unprotected")


# Streaming, and its end.


async def test_a_record_arrives_before_the_agent_goes_on() -> None:
    arrived, exchange = anyio.Event(), Exchange("/trace", headers=JSON, query=b"client=0.0.36")

    def on_send(message: Any) -> None:
        if message["type"] == BODY and b"TEXT_MESSAGE_CONTENT" in message["body"]:
            arrived.set()

    async def agent() -> AsyncIterator[AgentEvent]:
        yield TurnStart(turn=1)
        yield TextDelta(text="Hello")
        await arrived.wait()
        yield Done(outcome=RunOutcome(status="finished"))

    exchange.on_send = on_send
    with anyio.fail_after(10):
        await exchange.run(make_app(agent))
    assert "RUN_FINISHED" in exchange.body.decode()


async def test_the_agent_is_closed_when_the_page_leaves() -> None:
    begun, closed = anyio.Event(), False
    exchange = Exchange("/trace", headers=JSON)

    async def agent() -> AsyncIterator[AgentEvent]:
        nonlocal closed
        try:
            yield TextDelta(text="Hello")
            begun.set()
            await anyio.sleep_forever()
        finally:
            closed = True

    async def leave() -> None:
        await begun.wait()
        exchange.disconnect()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            await exchange.run(make_app(agent))
            assert closed


async def test_the_agent_is_closed_where_a_server_says_by_an_error_that_the_page_has_left() -> None:
    """As servers do from 2.4 of the ASGI specification on."""
    closed = False

    async def agent() -> AsyncIterator[AgentEvent]:
        nonlocal closed
        try:
            while True:
                yield TextDelta(text="Hello")
        finally:
            closed = True

    def on_send(message: Any) -> None:
        if message["type"] == BODY and b"TEXT_MESSAGE_CONTENT" in message["body"]:
            raise OSError("the page has left")

    exchange = Exchange("/trace", headers=JSON, spec_version="2.4", on_send=on_send)
    with anyio.fail_after(10), pytest.raises(ClientDisconnect):
        await exchange.run(make_app(agent))
    assert closed
