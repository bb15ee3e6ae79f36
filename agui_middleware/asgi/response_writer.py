"""The way out of one response: whatever writes to its client does so here, one at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from starlette.types import Message, Send

from agui_middleware.asgi.disconnected import Disconnected, turn_away
from agui_middleware.asgi.keep_alive import COMMENT, KeepAlive
from agui_middleware.asgi.lock import Lock
from agui_middleware.asgi.streams import Streams
from agui_middleware.stream.async_rewriter import AsyncRewriter
from agui_middleware.stream.framing import Framing

_FREE: Final = Lock()  # nobody takes this one

Stream: TypeAlias = Framing | AsyncRewriter
"""What rewrites a response. It writes by itself where a filter may await."""


class ResponseWriter:
    """Writes a response that is a stream, and comments in its silence; knows when it is over.

    What can be written at once does not come here: a `Responder`, which is one of these, sends that itself.
    """

    __slots__ = ("_gone", "_keep_alive", "_left", "_lock", "_over", "_send", "_stream", "_streams", "_writing")

    def __init__(self, streams: Streams, send: Send) -> None:
        self._streams = streams
        self._send = send
        self._stream: Stream | None = None  # None: the response passes as it is
        self._lock = Lock()
        # Held while a comment is written, and while anything is on the slow path, for which it is made. A filter that awaits
        # holds the other one for as long as it likes, and comments are to go out meanwhile.
        self._writing: Lock = _FREE
        self._keep_alive: KeepAlive = streams.never  # until there is a stream
        self._over = False  # the client has been sent the end, or cannot be sent anything
        self._gone = False  # the app knows that the client has left
        self._left = False  # the app has returned, and the stream is unwound

    async def _in_turn(self, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        """Do what sends, while nobody else sends."""
        if not self._lock.take():
            await self._lock.wait()
        try:
            if self._over:
                await turn_away()
            await work(*args)
        except BaseException:
            # A filter that was cancelled, or a client that disconnected: nothing can follow what did not get out.
            self._over = True
            raise
        finally:
            self._lock.release()
            if self._left and self._stream is not None:
                await self._unwind(self._stream)

    async def _feed(self, body: Any, more: bool, stream: Stream) -> None:
        if body != b"":  # most apps end with an empty body
            # It may be anything like bytes: servers take that.
            chunk = body if type(body) is bytes else bytes(memoryview(body))
            if isinstance(stream, AsyncRewriter):
                await stream.feed(chunk)
            else:
                await self._write_any(stream.feed(chunk))
        if stream.ended:
            await self._end_early(more, stream)
        elif not more:
            await self._finish_stream(stream)
            await self._write_rest(b"", stream)

    async def _write_rest(self, left: bytes, stream: Stream) -> None:
        await self._write_any(left)
        if stream.failure is not None:
            self._streams.reports.ended(stream.failure)
        await self._end()

    async def _write_last(self, written: bytes, stream: Stream) -> None:
        await self._write_any(written)
        await self._end_early(True, stream)

    async def _end_early(self, more: bool, stream: Stream) -> None:
        """End the response where a filter or a fault has ended the stream, though the app may have more to send."""
        self._streams.reports.ended(stream.failure)
        await self._end()
        if more:
            raise Disconnected("the response is over")

    async def _finish(self, complete: bool = True) -> None:
        """The app is done; the end itself is the app's to send, and the server's to miss."""
        if self._stream is not None and not (self._over or self._gone):
            await self._lock.wait()
            try:
                if not self._over:
                    await self._finish_stream(self._stream, complete)
            finally:
                self._lock.release()

    async def _finish_stream(self, stream: Stream, complete: bool = True) -> None:
        if isinstance(stream, AsyncRewriter):
            await stream.finish(complete)
        else:
            await self._write_any(stream.finish(complete))

    async def _unwind(self, stream: Stream) -> None:
        """Unwind the filters once nobody is at work in them: an app may leave a task behind that still sends."""
        self._over = self._left = True
        try:
            if not self._lock.take():
                await self._lock.wait()  # cancelled here, the one at work unwinds them
            try:
                if isinstance(stream, AsyncRewriter):
                    await stream.close()
                else:
                    stream.close()
            finally:
                self._lock.release()
        except BaseException:
            stream.take_failure()
            raise
        finally:
            # It leads back here, and so does its context.
            keep_alive, self._keep_alive = self._keep_alive, self._streams.never
            if (comment := keep_alive.end()) is not None:
                await asyncio.wait([comment])

    async def _write_any(self, data: bytes) -> None:
        if data:
            await self._write(data)

    async def _write(self, data: bytes) -> None:
        await self._send_alone({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self) -> None:
        self._over = True
        await self._send_alone({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_alone(self, message: Message) -> None:
        if self._writing is _FREE:
            self._writing = Lock()
        if not self._writing.take():
            await self._writing.wait()
        try:
            self._keep_alive.wrote = True
            await self._send(message)
        finally:
            self._writing.release()

    async def _ping(self) -> bool:
        """Write a comment, unless something is being written, or may end within a frame. Return whether to come again."""
        if self._over or self._gone:
            return False
        stream = self._stream
        if stream is not None and stream.settled and not self._writing.locked:
            await self._write(COMMENT)
        return True
