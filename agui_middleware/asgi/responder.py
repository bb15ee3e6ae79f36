"""The responder: what becomes of one response, from its start message to its end."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from anyio.lowlevel import checkpoint_if_cancelled
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware.asgi import headers
from agui_middleware.asgi.lock import Lock
from agui_middleware.config.plan import Plan
from agui_middleware.protocol.errors import WIRE_FAULTS
from agui_middleware.stream.async_rewriter import AsyncRewriter, Write
from agui_middleware.stream.rewriter import Rewriter

logger: logging.Logger = logging.getLogger("agui_middleware")

MakeStream = Callable[[Plan, Write], AsyncRewriter]


class Disconnected(OSError):
    """What the app's `send` raises once the response is over: to the app it looks as if the client had left."""


class Responder:
    """Serves one request: runs the app, and sends the client what the plan makes of its response.

    - `choose_plan` is asked when the response starts: what names the client may come with the request's body.
    - `make_stream` gives the stream of a plan, writing to the function it is handed.
    - `vary` names the request headers that decided.
    - `on_compressed` is told the content coding of a response that could not be read, and passes.
    """

    def __init__(
        self,
        send: Send,
        choose_plan: Callable[[], Plan],
        make_stream: MakeStream,
        vary: Sequence[str],
        on_compressed: Callable[[str], None],
        hides: bool,
    ) -> None:
        self._send = send
        self._choose_plan = choose_plan
        self._make_stream = make_stream
        self._vary = vary
        self._on_compressed = on_compressed
        self._hides = hides
        self._started = False
        self._stream: AsyncRewriter | None = None  # None: the response passes as it is
        self._rewriter: Rewriter | None = None  # of the stream, where no filter may await
        self._lock = Lock()
        self._over = False  # the client has been sent the end, or cannot be sent anything
        self._gone = False  # the app knows that the client has left
        self._left = False  # the app has returned

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Run the app. Raises what it raises, and the error of a filter that ended the response."""

        async def receive_until_over() -> Message:
            if self._over:
                return {"type": "http.disconnect"}
            message = await receive()
            self._gone = self._gone or message["type"] == "http.disconnect"
            return message

        try:
            await app(scope, receive_until_over, self.send)
            with suppress(OSError):  # of the server, whose client has left; what filters held has nobody to go to
                await self._finish()
        except Exception as error:
            if not (self._over and _stems_from_us(error)):
                with suppress(Exception):  # the app's own comes first
                    await self._finish(complete=False)
                raise
        finally:
            await self._close()
        if self._stream is not None and (failure := self._stream.failure) and not isinstance(failure, WIRE_FAULTS):
            raise failure

    def send(self, message: Message) -> Awaitable[None]:
        """The app's `send`. Not `async def`: creating a coroutine would double the cost of the synchronous path."""
        kind = message["type"]
        if kind == "http.response.body":
            if self._stream is None:
                return self._send_unread(message)
            body, more, rewriter = message.get("body", b""), message.get("more_body", False), self._rewriter
            if rewriter is None or not more or type(body) is not bytes or self._lock.locked or self._over:
                return self._in_turn(self._feed, body, more, self._stream)
            written = rewriter.feed(body)
            if written is body:
                return self._send(message)
            if rewriter.ended:
                return self._in_turn(self._write_last, written, self._stream)
            return self._write(written) if written else _send_nothing()
        if kind == "http.response.start":
            return self._start(message)
        if self._stream is not None and kind in headers.UNREAD_EXTENSIONS:
            return self._refuse_file(message)
        return self._send(message)

    def _send_unread(self, message: Message) -> Awaitable[None]:
        if self._over:
            raise Disconnected("the response is over")
        return self._send(message) if self._started else self._send_early(message)

    async def _send_early(self, message: Message) -> None:
        """A body whose start has not left: it is on its way in another task, or there is none."""
        await self._lock.acquire()
        self._lock.release()
        if self._started or self._over:
            await self.send(message)
        elif self._hides:
            raise RuntimeError("'http.response.body' before 'http.response.start'")
        else:
            await self._send(message)

    async def _start(self, message: Message) -> None:
        await self._lock.acquire()
        try:
            if self._over:
                await _turn_away()
            if not self._started:
                await self._decide(message)
            elif self._hides:
                raise RuntimeError("a second 'http.response.start'")
            else:
                await self._send(message)  # which is the server's to refuse
        finally:
            self._lock.release()

    async def _decide(self, message: Message) -> None:
        fields = headers.normalised(message.get("headers"))
        coding = headers.content_coding(fields)
        if not headers.is_event_stream(fields) or (message["status"] != 200 and not self._hides):
            if self._hides and headers.is_protobuf(fields):
                await self._refuse("AG-UI's binary encoding cannot be read here; answer with text/event-stream")
            else:
                await self._start_unread(message)
        elif coding is not None:
            await self._start_compressed(message, coding)
        else:
            await self._start_stream(message, fields)

    async def _start_unread(self, message: Message) -> None:
        await self._send(message)
        self._started = True

    async def _start_compressed(self, message: Message, coding: str) -> None:
        if self._hides:
            await self._refuse(
                f"a response compressed with {coding} cannot be read here; compress outside AGUIMiddleware"
            )
        else:
            self._on_compressed(coding)
            await self._start_unread(message)

    async def _start_stream(self, message: Message, fields: headers.Headers) -> None:
        plan = self._choose_plan()
        changed = headers.for_rewritten_body(fields, self._vary, plan.header_value)
        await self._send(message if changed == fields else {**message, "headers": changed})
        self._stream = stream = self._make_stream(plan, self._write)
        self._started = True
        await stream.start()
        self._rewriter = None if stream.awaits else stream.rewriter

    async def _refuse(self, why: str) -> None:
        """Fail closed: what a route hides would pass unread."""
        self._over = True
        logger.error("a route that hides subagents refused a response: %s", why)
        body = f"Subagents are hidden on this route, and {why}.\n".encode()
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await self._send({"type": "http.response.start", "status": 500, "headers": fields})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _refuse_file(self, message: Message) -> None:
        if self._hides:
            logger.error("a route that hides subagents refused a file, which nobody reads here")
            await self._end()
            raise Disconnected("the response is over")
        await self._send(message)

    async def _in_turn(self, work: Callable[..., Awaitable[None]], *args: Any) -> None:
        """Do what sends, while nobody else sends."""
        await self._lock.acquire()
        try:
            if self._over:
                await _turn_away()
            await work(*args)
        except BaseException:
            # A filter that was cancelled, or a client that disconnected: nothing can follow what did not get out.
            self._over = True
            raise
        finally:
            self._lock.release()
            if self._left and self._stream is not None:
                await self._stream.close()

    async def _feed(self, body: Any, more: bool, stream: AsyncRewriter) -> None:
        # A body may be anything like bytes: servers take that.
        await stream.feed(body if type(body) is bytes else bytes(memoryview(body)))
        if stream.ended:
            await self._end_early(more, stream)
        elif not more:
            await stream.finish()
            if stream.failure is not None:
                _log(stream.failure)
            await self._end()

    async def _write_last(self, written: bytes, stream: AsyncRewriter) -> None:
        if written:
            await self._write(written)
        await self._end_early(True, stream)

    async def _end_early(self, more: bool, stream: AsyncRewriter) -> None:
        """End the response where a filter or a fault has ended the stream, though the app may have more to send."""
        _log(stream.failure)
        await self._end()
        if more:
            raise Disconnected("the response is over")

    async def _finish(self, complete: bool = True) -> None:
        """The app is done; the end itself is the app's to send, and the server's to miss."""
        if self._stream is not None and not (self._over or self._gone):
            await self._lock.acquire()
            try:
                if not self._over:
                    await self._stream.finish(complete)
            finally:
                self._lock.release()

    async def _close(self) -> None:
        """Unwind the filters once nobody is at work in them: an app may leave a task behind that still sends."""
        if self._stream is None:
            return
        self._over = self._left = True
        await self._lock.acquire()  # cancelled here, the one at work unwinds them
        try:
            await self._stream.close()
        finally:
            self._lock.release()

    def _write(self, data: bytes) -> Awaitable[None]:
        return self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self) -> None:
        self._over = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_nothing() -> None:
    """For an event that was dropped: what `send` returns may become a task, so that it is a coroutine."""


async def _turn_away() -> NoReturn:
    """Tell a sender that the response is over; one that is cancelled with another, which ended it, is just cancelled."""
    await checkpoint_if_cancelled()
    raise Disconnected("the response is over")


def _stems_from_us(error: BaseException, seen: set[int] | None = None) -> bool:
    """Whether an app raised only since its `send` said that the client had left; frameworks wrap that in errors of theirs.

    Of a group every error has to. What was raised while the task was cancelled for it is an error of its own. Exceptions
    may refer to each other in circles: one that is taken out of its group and raised has the group as its context.
    """
    seen = set() if seen is None else seen
    link: BaseException | None = error
    while link is not None and not isinstance(link, Disconnected):
        if id(link) in seen or not isinstance(link, Exception):
            return False
        seen.add(id(link))
        if isinstance(link, BaseExceptionGroup):
            return all(_stems_from_us(inner, seen) for inner in link.exceptions)
        link = link.__cause__ or link.__context__
    return link is not None


def _log(failure: Exception | None) -> None:
    if failure is None:
        logger.info("a filter returned before the stream had ended")
    elif isinstance(failure, WIRE_FAULTS):
        logger.error("the agent's stream was ended: %s: %s", type(failure).__name__, failure)
    else:
        logger.error("a filter ended the stream", exc_info=failure)
