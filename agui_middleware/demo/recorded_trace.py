"""The trace of a recording, worked out in a thread: one of 5 MiB takes seconds, in which the server answers others."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeVar

from anyio import to_thread

from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.readers import Reader
from agui_middleware.demo.trace import Record, Tracer
from agui_middleware.protocol.releases import ClientVersion

T = TypeVar("T")

SLICE: Final = 16 * 1024
"""Bytes that the thread takes at a time, some hundred events: what a page that leaves waits for."""


async def trace_recording(
    stream: bytes, client: ClientVersion | Reader | None, visibility: str = "auto"
) -> AsyncGenerator[Record, None]:
    """Yield the records of `trace` for a stream that is all there, and how far it is.

    Behind the records of each slice comes one of `progress`, `{read, of}` in bytes. Where both are equal, what is left is
    to find what the client would reject without the middleware. Raises `ValueError` where `visibility` is none.
    """
    tracer = Tracer(counts_as(client), visibility)
    try:
        yield tracer.plan()
        for start in range(0, len(stream), SLICE):
            for record in await to_thread.run_sync(_completed, tracer.take, stream[start : start + SLICE]):
                yield record
            yield {"progress": {"read": min(start + SLICE, len(stream)), "of": len(stream)}}
        for record in await to_thread.run_sync(_completed, tracer.finish):
            yield record
    finally:
        await tracer.aclose()


def _completed(step: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
    """Run what awaits nothing. An event loop in the thread would close the filters' generators when it ends."""
    running = step(*arguments)  # here: cancelled before the thread has begun, it would never have been awaited
    try:
        running.send(None)
    except StopIteration as completed:
        return completed.value  # type: ignore[no-any-return]  # of a `Coroutine[Any, Any, T]`
    running.close()
    raise RuntimeError("a filter of the package awaited something")
