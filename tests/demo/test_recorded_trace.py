"""The trace of a recording: the same records as of a stream, worked out beside the server's event loop."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import pytest

from agui_middleware import ClientVersion
from agui_middleware.checking.recorded import as_stream
from agui_middleware.demo import server
from agui_middleware.demo.recorded_trace import SLICE, trace_recording
from agui_middleware.demo.server import make_app
from agui_middleware.demo.trace import Record, Tracer, trace
from agui_middleware.testing import encode_events
from tests.demo.test_server import APP, LOCAL, TEXT, records
from tests.notation import stream
from tests.robustness.exchange import BODY, Exchange

TURNS = "".join(f"SUB+ s{n}; TS n{n} @s{n}; TC n{n} psst @s{n}; TE n{n} @s{n}; SUB- s{n};" for n in range(100))
LONG = encode_events(stream(f"RS r; {TURNS} TS m; TC m hi; TE m; RF r"))
OLD = ClientVersion(0, 0, 58)


def is_progress(record: Record) -> bool:
    return "progress" in record


async def source(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def test_the_records_are_those_of_a_stream_with_the_progress_between_them() -> None:
    recorded = [record async for record in trace_recording(LONG, OLD)]
    assert [record for record in recorded if not is_progress(record)] == [
        record async for record in trace(source(LONG), OLD)
    ]
    read = [record["progress"]["read"] for record in recorded if is_progress(record)]
    assert len(LONG) > 2 * SLICE
    assert read == [*range(SLICE, len(LONG), SLICE), len(LONG)]
    assert {record["progress"]["of"] for record in recorded if is_progress(record)} == {len(LONG)}
    assert not is_progress(recorded[-1])


async def test_an_unknown_visibility_is_refused() -> None:
    with pytest.raises(ValueError, match="nobody"):
        await anext(trace_recording(LONG, OLD, "nobody"))


async def test_a_filter_that_awaits_is_no_filter_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    async def awaits(*_: object) -> list[Record]:
        await asyncio.sleep(0)
        return []

    monkeypatch.setattr(Tracer, "take", awaits)
    with pytest.raises(RuntimeError, match="awaited something"):
        await anext(aiter_behind_the_plan(trace_recording(LONG, OLD)))


async def aiter_behind_the_plan(traced: AsyncGenerator[Record, None]) -> AsyncGenerator[Record, None]:
    await anext(traced)
    async for record in traced:
        yield record


@pytest.mark.parametrize("step", ["parse", "take", "finish"])
async def test_the_server_answers_others_while_a_recording_is_traced(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Interlock: each step of the trace goes on only when another request was answered, on the same event loop."""
    begun, answered = anyio.Event(), threading.Event()
    loop = threading.get_ident()

    def wait() -> None:
        assert threading.get_ident() != loop
        anyio.from_thread.run_sync(begun.set)
        assert answered.wait(10)

    def parse(recording: bytes) -> bytes:
        wait()
        return as_stream(recording)

    original = getattr(Tracer, step, None)

    async def waiting(self: Tracer, *arguments: Any) -> Any:
        wait()
        return await original(self, *arguments)  # type: ignore[misc]  # a method of it, but for "parse"

    if step == "parse":
        monkeypatch.setattr(server, "as_stream", parse)
    else:
        monkeypatch.setattr(Tracer, step, waiting)

    traced = Exchange("/trace", query=b"client=0.0.58", headers=TEXT, body=[LONG])

    async def ask_for_something_else() -> None:
        await begun.wait()
        options = await Exchange("/options", method="GET", headers=[LOCAL]).run(APP)
        assert options.sent[0]["status"] == 200
        answered.set()

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask_for_something_else)
            await traced.run(APP)
    assert "losses" in records(traced)[-1]


async def test_a_page_that_leaves_ends_the_trace_after_the_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, closed = 0, 0
    take, close = Tracer.take, Tracer.aclose

    async def counted(self: Tracer, chunk: bytes) -> list[Record]:
        nonlocal taken
        taken += 1
        return await take(self, chunk)

    async def noted(self: Tracer) -> None:
        nonlocal closed
        closed += 1
        await close(self)

    monkeypatch.setattr(Tracer, "take", counted)
    monkeypatch.setattr(Tracer, "aclose", noted)
    exchange = Exchange("/trace", query=b"client=0.0.58", headers=TEXT, body=[LONG])

    def leave(message: Any) -> None:
        if message["type"] == BODY and b"progress" in message["body"]:
            exchange.disconnect()

    exchange.on_send = leave
    with anyio.fail_after(30):
        await exchange.run(make_app())
    assert (taken < len(LONG) / SLICE, closed) == (True, 1)
