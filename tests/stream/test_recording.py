from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import pytest

from agui_middleware import ClientVersion, Context, Event, rewrite
from agui_middleware.testing import encode_events
from tests.notation import stream

Events = AsyncIterator[Event]
ATTRIBUTED = encode_events(stream("RS r; SUB+ s; TS n @s; TE n @s; SUB- s; TS m; TE m; RF r"))
INLINE = encode_events(stream("RS r; TS n; TE n; TS m; TE m; RF r"))
HIDDEN = encode_events(stream("RS r; TS m; TE m; RF r"))
A, B, C = (encode_events([{"type": type}]) for type in "ABC")


async def collected(chunks: AsyncIterator[bytes]) -> list[bytes]:
    return [chunk async for chunk in chunks]


async def asynchronous(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await anyio.lowlevel.checkpoint()
        yield chunk


async def fails_on_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "B":
            raise ZeroDivisionError
        yield event


async def returns_on_b(events: Events, _: Context) -> Events:
    async for event in events:
        if event.type == "B":
            return
        yield event


async def sleeps(events: Events, _: Context) -> Events:
    async for event in events:
        await anyio.lowlevel.checkpoint()
        yield event


@pytest.mark.parametrize("client", [None, "current", "1.0.1", "0.0.59", ClientVersion(0, 0, 59), "0.0.58", "v0.0.57"])
def test_bytes_give_bytes(client: ClientVersion | str | None) -> None:
    seen = INLINE if client in ("0.0.58", "v0.0.57") else ATTRIBUTED
    assert rewrite(ATTRIBUTED, client=client) == seen
    assert rewrite(bytearray(ATTRIBUTED), client=client) == seen
    assert rewrite(memoryview(ATTRIBUTED), client=client) == seen


@pytest.mark.parametrize(
    ("visibility", "seen"), [("auto", ATTRIBUTED), ("attributed", ATTRIBUTED), ("inline", INLINE), ("hidden", HIDDEN)]
)
async def test_visibility_whole_in_chunks_and_asynchronously(visibility: str, seen: bytes) -> None:
    chunks = [ATTRIBUTED[at : at + 7] for at in range(0, len(ATTRIBUTED), 7)]
    assert rewrite(ATTRIBUTED, visibility=visibility) == seen
    assert b"".join(rewrite(chunks, visibility=visibility)) == seen
    assert b"".join(await collected(rewrite(asynchronous(*chunks), visibility=visibility))) == seen


async def test_what_a_chunk_becomes_comes_before_the_next_is_taken() -> None:
    taken: list[bytes] = []

    def chunks() -> Iterator[bytes]:
        for chunk in (A, B[:5], B[5:], C[:-2]):
            taken.append(chunk)
            yield chunk

    written = rewrite(chunks(), visibility="inline")
    assert (next(written), taken) == (A, [A])
    assert (next(written), taken) == (B, [A, B[:5], B[5:]])
    assert (list(written), len(taken)) == ([C], 4)

    async def async_chunks() -> AsyncIterator[bytes]:
        for chunk in chunks():
            yield chunk

    taken.clear()
    async_written = rewrite(async_chunks(), visibility="inline")
    assert (await anext(async_written), taken) == (A, [A])
    assert [chunk async for chunk in async_written] == [B, C]


def test_the_routes_filters_come_first() -> None:
    async def drops_subagents(events: Events, _: Context) -> Events:
        async for event in events:
            if "subagentRunId" not in event:
                yield event

    assert rewrite(ATTRIBUTED, client="0.0.58", filters=[drops_subagents]) == HIDDEN


@pytest.mark.parametrize(("client", "visibility"), [("1.0", "auto"), ("", "auto"), ("latest", "auto"), (None, "hide")])
def test_a_client_or_visibility_that_is_none_is_refused_at_once(client: str | None, visibility: str) -> None:
    for given in (b"", iter([b""])):
        with pytest.raises(ValueError, match=r"neither a release|SubagentVisibility"):
            rewrite(given, client=client, visibility=visibility)


@pytest.mark.parametrize("stream", ["data: x", None, 1])
def test_a_stream_of_another_type_is_refused_at_once(stream: Any) -> None:
    with pytest.raises(TypeError, match=f"expected bytes, or an iterable of bytes, not {type(stream).__name__}"):
        rewrite(stream)


async def test_what_a_filter_raises_comes_behind_what_it_leaves() -> None:
    with pytest.raises(ZeroDivisionError):
        rewrite(A + B + C, filters=[fails_on_b])
    got: list[bytes] = []
    with pytest.raises(ZeroDivisionError):
        got.extend(rewrite([A, B, C], filters=[fails_on_b]))
    written = rewrite([A, B, C], filters=[fails_on_b])
    assert next(written) == A
    assert b"AGUI_FILTER_ERROR" in next(written)
    with pytest.raises(ZeroDivisionError):
        next(written)
    async_written = rewrite(asynchronous(A, B, C), filters=[fails_on_b])
    assert await anext(async_written) == A
    assert b"AGUI_FILTER_ERROR" in await anext(async_written)
    with pytest.raises(ZeroDivisionError):
        await anext(async_written)


def test_what_the_agent_wrote_wrong_raises_nothing() -> None:
    assert b"AGUI_MALFORMED_EVENT" in rewrite(A + b'data: {"x"\n\n', visibility="hidden")
    assert b"AGUI_EVENT_TOO_LARGE" in rewrite(b"data: " + b"x" * (11 << 20))


async def test_a_filter_that_returns_ends_the_stream() -> None:
    taken: list[bytes] = []

    def chunks() -> Iterator[bytes]:
        for chunk in (A, B, C):
            taken.append(chunk)
            yield chunk

    assert b"".join(rewrite(chunks(), filters=[returns_on_b])) == A
    assert taken == [A, B]
    assert await collected(rewrite(asynchronous(A, B, C), filters=[returns_on_b])) == [A]


async def test_a_filter_that_awaits_needs_the_asynchronous_form() -> None:
    assert await collected(rewrite(asynchronous(A, B), filters=[sleeps])) == [A, B]
    with pytest.raises(RuntimeError, match="give `rewrite` an async iterable"):
        rewrite(A, filters=[sleeps])


async def test_a_reader_that_stops_early_unwinds_the_filters() -> None:
    log: list[str] = []

    async def watches(events: Events, _: Context) -> Events:
        try:
            async for event in events:
                yield event
        finally:
            log.append("finally")

    written = rewrite(iter([A, B]), filters=[watches])
    assert next(written) == A
    written.close()  # type: ignore[attr-defined]  # of the generator that it is
    async_written = rewrite(asynchronous(A, B), filters=[watches])
    assert await anext(async_written) == A
    await async_written.aclose()  # type: ignore[attr-defined]  # as above
    assert log == ["finally", "finally"]


def test_losses_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    rewrite(ATTRIBUTED, client="0.0.58")
    assert [message.partition(":")[0] for message in caplog.messages] == ["lost for @ag-ui/client 0.0.58"]
