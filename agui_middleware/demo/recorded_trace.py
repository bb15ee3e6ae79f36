"""Traces a recording in a thread: 5 MiB take seconds, during which the server has to answer other requests."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeVar

from anyio import to_thread

from agui_middleware.config.named_clients import counts_as
from agui_middleware.config.readers import Reader
from agui_middleware.demo.trace import Record, Tracer
from agui_middleware.protocol.releases import ClientVersion

T = TypeVar("T")

SLICE: Final = 16 * 1024
"""How many bytes the thread takes at a time: about a hundred events. A page that disconnects waits for one slice."""


async def trace_recording(
    stream: bytes, client: ClientVersion | Reader | None, visibility: str = "auto"
) -> AsyncGenerator[Record, None]:
    """Yield the records of `trace` for a complete recording, and its progress.

    After the records of each slice comes one record `progress`, `{read, of}` in bytes. When both are equal, the trace still
    has to find where the client would reject the stream without the middleware. Raises `ValueError` for an unknown
    `visibility`.
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
    """Run a coroutine that never suspends. An event loop in the thread would close the filters' generators at its end."""
    running = step(*arguments)  # created here: if cancelled before the thread starts, it would stay un-awaited
    try:
        running.send(None)
    except StopIteration as completed:
        return completed.value  # type: ignore[no-any-return]  # of a `Coroutine[Any, Any, T]`
    running.close()
    raise RuntimeError("a filter of the package awaited something")
