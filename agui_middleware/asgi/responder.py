"""The responder: what becomes of one response, from its start message to its end."""

from collections.abc import Awaitable
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware.asgi import headers
from agui_middleware.asgi.answer import answer_of
from agui_middleware.asgi.decision import Decision
from agui_middleware.asgi.disconnected import Disconnected, stems_from_us, turn_away
from agui_middleware.asgi.keep_alive import InGroup, is_on_asyncio
from agui_middleware.asgi.response_writer import ResponseWriter
from agui_middleware.asgi.streams import Streams
from agui_middleware.protocol.errors import WIRE_FAULTS
from agui_middleware.stream.async_rewriter import AsyncRewriter
from agui_middleware.stream.framing import Framing

if TYPE_CHECKING:
    from agui_middleware.asgi.turn import Turn


class Responder(ResponseWriter):
    """Serves one request: runs the app, and sends the client what the plan makes of its response.

    `streams` gives the plan and the stream when the response starts, and `decision` is asked then whether nothing may leave
    unread: the app's framework may know better. `turn` is told of the stream.
    """

    __slots__ = ("_decision", "_receive", "_returned", "_rewriter", "_started", "_turn")

    def __init__(self, streams: Streams, decision: Decision, turn: "Turn | None", receive: Receive, send: Send) -> None:
        super().__init__(streams, send)
        self._turn = turn
        self._decision = decision
        self._receive = receive
        self._started = False
        self._rewriter: Framing | None = None  # of the stream, where no filter may await
        self._returned = False  # the app has; it may have left a task behind, which may even start a stream

    def run(self, app: ASGIApp, scope: Scope) -> Awaitable[None]:
        """Run the app. Raises what it raises, and the error of a filter that ended the response."""
        if is_on_asyncio():
            return self._run(app, scope)
        seconds = self._streams.silence(self._decision.choice.route)
        return self._run_in_group(app, scope, seconds) if seconds else self._run(app, scope)

    async def _run_in_group(self, app: ASGIApp, scope: Scope, seconds: float) -> None:
        """On trio, whose task group has to be there before there is a stream."""
        self._keep_alive = group = InGroup(self._streams.timers, seconds)
        await group.run(lambda: self._run(app, scope))

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self.receive, self.send)
            if not self._over:
                with suppress(OSError):  # of the server, whose client has left; what filters held has nobody to go to
                    await self._finish()
        except BaseException as error:
            if not (self._over and stems_from_us(error)):
                if isinstance(error, Exception):
                    with suppress(Exception):  # the app's own comes first
                        await self._finish(complete=False)
                self._forget_failure()
                raise
        finally:
            self._returned = True
            if self._stream is not None:
                await self._unwind(self._stream)
        if self._stream is not None and self._stream.failure is not None:
            self._raise(self._stream.take_failure())

    def _forget_failure(self) -> None:
        if self._stream is not None:
            self._stream.take_failure()

    def _raise(self, failure: Exception | None) -> None:
        try:
            if failure is not None and not isinstance(failure, WIRE_FAULTS):
                raise failure
        finally:
            del failure  # its traceback has this frame: a circle, which would keep the app's generators open

    async def receive(self) -> Message:
        """The app's `receive`: the client has left once the response is over."""
        if self._over:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._gone = self._gone or message["type"] == "http.disconnect"
        return message

    def send(self, message: Message) -> Awaitable[None]:
        """The app's `send`. Not `async def`: creating a coroutine would double the cost of the synchronous path."""
        kind = message["type"]
        if kind == "http.response.body":
            if self._stream is None:
                return self._send_unread(message)
            rewriter = self._rewriter
            try:  # an event has both, and the last message of most servers
                body, more = message["body"], message["more_body"]
            except KeyError:
                body, more = message.get("body", b""), message.get("more_body", False)
            busy = self._lock.locked or self._writing.locked
            if rewriter is None or not more or type(body) is not bytes or busy or self._over:
                if body == b"" and not (more or rewriter is None or busy or self._over):  # as most apps end
                    return self._end_at_once(rewriter)
                return self._in_turn(self._feed, body, more, self._stream)
            written = rewriter.feed(body)
            if written is body:
                self._keep_alive.wrote = True
                return self._send(message)
            if rewriter.outcome.ended:
                return self._in_turn(self._write_last, written, rewriter)
            if not written:
                return _send_nothing()
            self._keep_alive.wrote = True
            return self._send({**message, "body": written})
        if kind == "http.response.start":
            return self._start(message)
        if self._stream is not None and kind in headers.UNREAD_EXTENSIONS:
            return self._refuse_file(message)
        return self._send(message)

    def _end_at_once(self, rewriter: Framing) -> Awaitable[None]:
        left = rewriter.finish()
        if left or rewriter.outcome.failure is not None:
            return self._in_turn(self._write_rest, left, rewriter)
        self._over = self._keep_alive.wrote = True
        return self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _send_unread(self, message: Message) -> Awaitable[None]:
        if self._over:
            raise Disconnected("the response is over")
        return self._send(message) if self._started else self._send_early(message)

    async def _send_early(self, message: Message) -> None:
        """A body whose start has not left: it is on its way in another task, or there is none."""
        await self._lock.wait()
        self._lock.release()
        if self._started or self._over:
            await self.send(message)
        elif self._decision.hides():
            raise RuntimeError("'http.response.body' before 'http.response.start'")
        else:
            await self._send(message)

    async def _start(self, message: Message) -> None:
        if not self._lock.take():
            await self._lock.wait()
        try:
            if self._over:
                await turn_away()
            if not self._started:
                await self._answer(message)
                self._started = True
            elif self._decision.hides():
                raise RuntimeError("a second 'http.response.start'")
            else:
                await self._send(message)  # which is the server's to refuse
        finally:
            self._lock.release()

    def _answer(self, message: Message) -> Awaitable[None]:
        fields = headers.normalised(message.get("headers"))
        answer = answer_of(message["status"], fields, self._decision)
        if answer.reads:
            return self._start_stream(message, fields, answer.labelled)
        if answer.refusal is not None:
            return self._refuse(answer.refusal)
        if answer.coding is not None:
            self._streams.reports.compressed(answer.coding)
            # A cache may not give it to a client that says another release: behind a compression outside, it is rewritten.
            message = {**message, "headers": headers.with_vary(fields, self._vary())}
        return self._send(message)

    async def _start_stream(self, message: Message, fields: headers.Headers, labelled: bool) -> None:
        plan = self._streams.choose(self._decision)
        changed = headers.for_rewritten_body(fields, self._vary(), plan.header_value if labelled else None)
        await self._send(message if changed == fields else {**message, "headers": changed})
        self._stream = stream = self._streams.make(self._decision, self._turn, plan, self._write, not labelled)
        self._started = True  # before the filters start, which may await
        seconds = self._streams.silence(self._decision.choice.route)
        if seconds and plan.reads_comments and not self._returned:
            if isinstance(self._keep_alive, InGroup):
                self._keep_alive.start(self._ping)
            elif is_on_asyncio():  # else the route that has answered is another one, and there is no group
                self._keep_alive = self._streams.timers.keep_alive(seconds, self._ping)
        if isinstance(stream, AsyncRewriter):
            await stream.start()
        else:
            self._rewriter = stream

    def _vary(self) -> tuple[str, ...]:
        return self._streams.vary(self._decision.choice.route)

    async def _refuse(self, why: str) -> None:
        """Fail closed: what a route hides would pass unread."""
        self._over = True
        self._streams.reports.refused(why)
        body = f"Subagents are hidden on this route, and {why}.\n".encode()
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await self._send({"type": "http.response.start", "status": 500, "headers": fields})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _refuse_file(self, message: Message) -> None:
        if self._decision.hides():
            self._streams.reports.refused("a file that the server sends cannot be read here")
            await self._end()
            raise Disconnected("the response is over")
        await self._send(message)


async def _send_nothing() -> None:
    """For an event that was dropped: what `send` returns may become a task, so that it is a coroutine."""
