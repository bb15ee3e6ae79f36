"""The responder: what becomes of one response, from its start message to its end."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from anyio.lowlevel import checkpoint_if_cancelled
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware.asgi import headers
from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.keep_alive import COMMENT, KeepAlive, Sleep
from agui_middleware.asgi.lock import Lock
from agui_middleware.asgi.reports import Reports
from agui_middleware.config.plan import Plan
from agui_middleware.protocol.errors import WIRE_FAULTS
from agui_middleware.stream.async_rewriter import AsyncRewriter, Write
from agui_middleware.stream.rewriter import Rewriter

MakeStream = Callable[[Plan, Write, bool], AsyncRewriter]


class Disconnected(OSError):
    """What the app's `send` raises once the response is over: to the app it looks as if the client had left."""


class Responder:
    """Serves one request: runs the app, and sends the client what the plan makes of its response.

    - `choose_plan` is asked when the response starts: what names the client may come with the request's body.
    - `make_stream` gives the stream of a plan, writing to the function it is handed. The flag: it may not be AG-UI.
    - `vary` names the request headers that decided.
    - `reports` logs what is refused, passes unread or ends early.
    - `decision` is asked whether nothing may leave unread, when the response starts: the app's framework may know better.
    - `keep_alive`: seconds of silence after which a comment is written; 0 for never. `sleep` waits, see `anyio.sleep`.
    """

    def __init__(
        self,
        send: Send,
        choose_plan: Callable[[], Plan],
        make_stream: MakeStream,
        vary: Sequence[str],
        reports: Reports,
        decision: Decision,
        keep_alive: float,
        sleep: Sleep,
    ) -> None:
        self._send = send
        self._choose_plan = choose_plan
        self._make_stream = make_stream
        self._vary = vary
        self._reports = reports
        self._decision = decision
        self._started = False
        self._stream: AsyncRewriter | None = None  # None: the response passes as it is
        self._rewriter: Rewriter | None = None  # of the stream, where no filter may await
        self._lock = Lock()
        # Held while a comment is written, and while anything is on the slow path. A filter that awaits holds the other one
        # for as long as it likes, and comments are to go out meanwhile.
        self._writing = Lock()
        self._keep_alive = KeepAlive(keep_alive, reports.ping_failed, sleep)
        self._over = False  # the client has been sent the end, or cannot be sent anything
        self._gone = False  # the app knows that the client has left
        self._left = False  # the app has returned

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Run the app. Raises what it raises, and the error of a filter that ended the response."""
        try:
            await self._keep_alive.run(lambda: self._run(app, scope, receive))
        except BaseException:
            self._take_failure()
            raise
        failure = self._take_failure()
        try:
            if failure is not None and not isinstance(failure, WIRE_FAULTS):
                raise failure
        finally:
            del failure  # its traceback has this frame: a circle, which would keep the app's generators open

    def _take_failure(self) -> Exception | None:
        """Return what has ended the stream, and forget it: its traceback leads back here, and to the app."""
        return None if self._stream is None else self._stream.take_failure()

    async def _run(self, app: ASGIApp, scope: Scope, receive: Receive) -> None:

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

    def send(self, message: Message) -> Awaitable[None]:
        """The app's `send`. Not `async def`: creating a coroutine would double the cost of the synchronous path."""
        kind = message["type"]
        if kind == "http.response.body":
            if self._stream is None:
                return self._send_unread(message)
            body, more, rewriter = message.get("body", b""), message.get("more_body", False), self._rewriter
            busy = self._lock.locked or self._writing.locked
            if rewriter is None or not more or type(body) is not bytes or busy or self._over:
                return self._in_turn(self._feed, body, more, self._stream)
            written = rewriter.feed(body)
            if written is body:
                self._keep_alive.wrote = True
                return self._send(message)
            if rewriter.chain.ended:
                return self._in_turn(self._write_last, written, self._stream)
            if not written:
                return _send_nothing()
            self._keep_alive.wrote = True
            return self._send({**message, "body": written})
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
        elif self._decision.hides():
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
            elif self._decision.hides():
                raise RuntimeError("a second 'http.response.start'")
            else:
                await self._send(message)  # which is the server's to refuse
        finally:
            self._lock.release()

    async def _decide(self, message: Message) -> None:
        fields = headers.normalised(message.get("headers"))
        status, hides = message["status"], self._decision.hides()
        labelled = headers.is_event_stream(fields) and (status == 200 or hides)
        if not labelled and hides and headers.is_protobuf(fields):
            await self._refuse("AG-UI's binary encoding cannot be read here; answer with text/event-stream")
        elif not (labelled or self._decision.suspects(status, fields)):
            await self._start_unread(message)
        elif hides and any(name == b"content-range" for name, _ in fields):
            await self._refuse("a part of a stream cannot be read here; do not serve ranges of it")
        elif (coding := headers.content_coding(fields)) is not None:
            await self._start_compressed(message, fields, coding)
        else:
            await self._start_stream(message, fields, labelled)

    async def _start_unread(self, message: Message) -> None:
        await self._send(message)
        self._started = True

    async def _start_compressed(self, message: Message, fields: headers.Headers, coding: str) -> None:
        if self._decision.hides():
            await self._refuse(
                f"a response compressed with {coding} cannot be read here; compress outside AGUIMiddleware"
            )
        else:
            self._reports.compressed(coding)
            # A cache may not give it to a client that says another release: behind a compression outside, it is rewritten.
            await self._start_unread({**message, "headers": headers.with_vary(fields, self._vary)})

    async def _start_stream(self, message: Message, fields: headers.Headers, labelled: bool) -> None:
        plan = self._choose_plan()
        changed = headers.for_rewritten_body(fields, self._vary, plan.header_value if labelled else None)
        await self._send(message if changed == fields else {**message, "headers": changed})
        self._stream = stream = self._make_stream(plan, self._write, not labelled)
        self._started = True
        if plan.reads_comments:
            self._keep_alive.start(self._ping)
        await stream.start()
        self._rewriter = None if stream.awaits else stream.rewriter

    async def _refuse(self, why: str) -> None:
        """Fail closed: what a route hides would pass unread."""
        self._over = True
        self._reports.refused(why)
        body = f"Subagents are hidden on this route, and {why}.\n".encode()
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await self._send({"type": "http.response.start", "status": 500, "headers": fields})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _refuse_file(self, message: Message) -> None:
        if self._decision.hides():
            self._reports.refused("a file that the server sends cannot be read here")
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
                self._reports.ended(stream.failure)
            await self._end()

    async def _write_last(self, written: bytes, stream: AsyncRewriter) -> None:
        if written:
            await self._write(written)
        await self._end_early(True, stream)

    async def _end_early(self, more: bool, stream: AsyncRewriter) -> None:
        """End the response where a filter or a fault has ended the stream, though the app may have more to send."""
        self._reports.ended(stream.failure)
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

    async def _write(self, data: bytes) -> None:
        await self._send_alone({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self) -> None:
        self._over = True
        await self._send_alone({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_alone(self, message: Message) -> None:
        await self._writing.acquire()
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
        if stream is not None and stream.rewriter.settled and not self._writing.locked:
            await self._write(COMMENT)
        return True


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
