"""Rewriting a recorded stream, without a server."""

import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

from agui_middleware.config.named_clients import counts_as, parse_client
from agui_middleware.config.planning import make_plan
from agui_middleware.config.readers import Reader
from agui_middleware.filters.contract import Context, Filter, Loss
from agui_middleware.protocol.errors import MAX_EVENT_BYTES, WIRE_FAULTS
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.async_rewriter import AsyncRewriter, make_rewriter

logger: logging.Logger = logging.getLogger("agui_middleware.loss")

# A plan takes longer to make than a short stream to rewrite. With filters it would keep what is the caller's.
_plan_without_filters = lru_cache(maxsize=256)(make_plan)


@overload
def rewrite(
    stream: bytes | bytearray | memoryview,
    *,
    client: ClientVersion | Reader | str | None = None,
    visibility: str = "auto",
    filters: Sequence[Filter] = (),
    input: Mapping[str, Any] | None = None,
) -> bytes: ...
@overload
def rewrite(
    stream: AsyncIterable[bytes],
    *,
    client: ClientVersion | Reader | str | None = None,
    visibility: str = "auto",
    filters: Sequence[Filter] = (),
    input: Mapping[str, Any] | None = None,
) -> AsyncIterator[bytes]: ...
@overload
def rewrite(
    stream: Iterable[bytes],
    *,
    client: ClientVersion | Reader | str | None = None,
    visibility: str = "auto",
    filters: Sequence[Filter] = (),
    input: Mapping[str, Any] | None = None,
) -> Iterator[bytes]: ...
def rewrite(
    stream: bytes | bytearray | memoryview | Iterable[bytes] | AsyncIterable[bytes],
    *,
    client: ClientVersion | Reader | str | None = None,
    visibility: str = "auto",
    filters: Sequence[Filter] = (),
    input: Mapping[str, Any] | None = None,
) -> bytes | Iterator[bytes] | AsyncIterator[bytes]:
    """Rewrite a recorded stream of Server-Sent Events as the middleware would: bytes in, bytes out.

    Bytes give bytes. An iterable of chunks gives an iterator, and an async iterable an async iterator, which yields the
    output for each chunk before it takes the next. `client` is a release of @ag-ui/client or another SDK with its version,
    such as `ag_ui@0.2.0` (`None` or `"current"`: one that reads everything), `visibility` is `auto` or a value of
    `SubagentVisibility`. `input` is the RunAgentInput that the stream answers, for filters that look at `Context.input`.

    Raises `TypeError` where `stream` is neither bytes nor an iterable, `ValueError` for a `client` or `visibility` that is
    none, and what a filter raises once the stream, RUN_ERROR included, has been given. A filter that awaits anything but
    its source needs the async form: the others raise `RuntimeError`.
    """
    if isinstance(stream, str) or not isinstance(stream, bytes | bytearray | memoryview | Iterable | AsyncIterable):
        raise TypeError(f"expected bytes, or an iterable of bytes, not {type(stream).__name__}")
    reader = parse_client(client) if isinstance(client, str) and client != "current" else client
    recording = Recording(None if isinstance(reader, str) else reader, visibility, filters, input)
    if isinstance(stream, bytes | bytearray | memoryview):
        return b"".join(recording.chunks([bytes(stream)]))
    if isinstance(stream, AsyncIterable):
        return recording.async_chunks(stream)
    return recording.chunks(stream)


class Recording:
    """One stream whose output is collected instead of sent."""

    def __init__(
        self,
        client: ClientVersion | Reader | None,
        visibility: str,
        filters: Sequence[Filter],
        input: Mapping[str, Any] | None,
    ) -> None:
        reader = counts_as(client)
        plan = make_plan(reader, visibility, filters=filters) if filters else _plan_without_filters(reader, visibility)
        self._written: list[bytes] = []
        posted = JsonObject(input) if input is not None else None
        context = Context(plan.client, on_loss=_log_loss, reader=plan.reader_name, input=posted)
        rewriter = make_rewriter(plan, context, MAX_EVENT_BYTES)
        self._stream = AsyncRewriter(rewriter, plan.composition.awaiting, context, self._write)

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """What each of `chunks` becomes."""
        stream = self._stream
        try:
            yield from self._taken(stream.start())
            for chunk in chunks:
                yield from self._taken(stream.feed(chunk))
                if stream.ended:
                    break
            else:
                yield from self._taken(stream.finish())
        finally:
            _step(stream.close())
        self._raise_failure()

    async def async_chunks(self, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """What each of `chunks` becomes."""
        stream = self._stream
        try:
            await stream.start()
            async for chunk in chunks:
                await stream.feed(chunk)
                for written in self._take():
                    yield written
                if stream.ended:
                    break
            else:
                await stream.finish()
                for written in self._take():
                    yield written
        finally:
            await stream.close()
        self._raise_failure()

    async def _write(self, data: bytes) -> None:
        self._written.append(data)

    def _take(self) -> list[bytes]:
        written, self._written = self._written, []
        return written

    def _taken(self, step: Awaitable[None]) -> list[bytes]:
        _step(step)
        return self._take()

    def _raise_failure(self) -> None:
        failure = self._stream.failure
        if failure is not None and not isinstance(failure, WIRE_FAULTS):
            raise failure


def _step(step: Awaitable[None]) -> None:
    """Run a coroutine that awaits nothing. Raises `RuntimeError` if it does await something."""

    async def run() -> None:
        await step

    running = run()
    try:
        running.send(None)
    except StopIteration:
        return
    running.close()
    raise RuntimeError("a filter awaited something: give `rewrite` an async iterable")


def _log_loss(loss: Loss) -> None:
    logger.warning("%s", loss, extra=loss.fields)
