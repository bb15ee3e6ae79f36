"""The responder: what becomes of one response, from its start message to its end."""

import logging
from collections.abc import Awaitable, Callable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware import headers
from agui_middleware.errors import WIRE_FAULTS
from agui_middleware.plan import Plan
from agui_middleware.stream import Stream
from agui_middleware.turn import Turn

logger = logging.getLogger("agui_middleware")

MakeStream = Callable[[Plan, Callable[[bytes], Awaitable[None]]], Stream]


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
        self._stream: Stream | None = None  # None: the response passes as it is
        self._turn = Turn()
        self._over = False  # the client has been sent the end, or cannot be sent anything

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Run the app. Raises what it raises, and the error of a filter that ended the response."""

        async def receive_until_over() -> Message:
            return {"type": "http.disconnect"} if self._over else await receive()

        try:
            await app(scope, receive_until_over, self.send)
            if self._stream is not None and not self._over:
                await self._stream.finish()  # the end itself is the app's to send, and the server's to miss
        except Exception as error:
            if not (self._over and _stems_from_us(error)):
                raise
        finally:
            if self._stream is not None:
                await self._stream.close()
        if self._stream is not None and (failure := self._stream.failure) and not isinstance(failure, WIRE_FAULTS):
            raise failure

    def send(self, message: Message) -> Awaitable[None]:
        """The app's `send`. No coroutine of our own where a message passes: that would cost as much as the check."""
        type = message["type"]
        stream = self._stream
        if type == "http.response.body":
            if stream is None:
                return self._send_unread(message)
            if stream.passes(message.get("body", b"")) and message.get("more_body", False) and not self._turn.taken:
                return self._send(message)
            return self._send_body(message, stream)
        if type == "http.response.start" and not self._started:
            self._started = True
            return self._start(message)
        if stream is not None and type in headers.UNREAD_EXTENSIONS:
            return self._refuse_file(message, stream)
        return self._send(message)

    def _send_unread(self, message: Message) -> Awaitable[None]:
        if self._over:
            raise Disconnected("the response is over")
        if self._hides and not self._started:
            raise RuntimeError("'http.response.body' before 'http.response.start'")
        return self._send(message)

    async def _start(self, message: Message) -> None:
        fields = headers.normalised(message.get("headers"))
        coding = headers.content_coding(fields)
        if not headers.is_event_stream(fields) or (message["status"] != 200 and not self._hides):
            if self._hides and headers.is_protobuf(fields):
                await self._refuse("AG-UI's binary encoding cannot be read here; answer with text/event-stream")
            else:
                await self._send(message)
        elif coding is not None:
            await self._start_compressed(message, coding)
        else:
            await self._start_stream(message, fields)

    async def _start_compressed(self, message: Message, coding: str) -> None:
        if self._hides:
            await self._refuse(
                f"a response compressed with {coding} cannot be read here; compress outside AGUIMiddleware"
            )
        else:
            self._on_compressed(coding)
            await self._send(message)

    async def _start_stream(self, message: Message, fields: headers.Headers) -> None:
        plan = self._choose_plan()
        changed = headers.for_rewritten_body(fields, self._vary, plan.summary)
        await self._send(message if changed == fields else {**message, "headers": changed})
        self._stream = self._make_stream(plan, self._write)
        await self._stream.start()

    async def _refuse(self, why: str) -> None:
        """Fail closed: what a route hides would pass unread."""
        self._over = True
        logger.error("a route that hides subagents refused a response: %s", why)
        body = f"Subagents are hidden on this route, and {why}.\n".encode()
        fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await self._send({"type": "http.response.start", "status": 500, "headers": fields})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _refuse_file(self, message: Message, stream: Stream) -> None:
        if self._hides:
            logger.error("a route that hides subagents refused a file, which nobody reads here")
            await self._end()
            raise Disconnected("the response is over")
        await self._send(message)

    async def _send_body(self, message: Message, stream: Stream) -> None:
        turn = self._turn
        if turn.taken:
            await turn.take()
        else:
            turn.taken = True
        try:
            if self._over:
                raise Disconnected("the response is over")
            last = not message.get("more_body", False)
            await stream.feed(message.get("body", b""))
            if last and not stream.ended:
                await stream.finish()
            if stream.ended:
                _log(stream.failure)
            if last or stream.ended:
                await self._end()
            if stream.ended and not last:
                raise Disconnected("the response is over")
        except BaseException:
            # A filter that was cancelled, or a client that has left: nothing can follow what did not get out.
            self._over = True
            raise
        finally:
            turn.give()

    async def _write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self) -> None:
        self._over = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _stems_from_us(error: BaseException | None) -> bool:
    """Whether an app raised since its `send` said that the client had left; frameworks wrap that in errors of theirs."""
    if error is None or isinstance(error, Disconnected):
        return error is not None
    inner: Sequence[BaseException] = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return _stems_from_us(error.__cause__) or _stems_from_us(error.__context__) or any(map(_stems_from_us, inner))


def _log(failure: Exception | None) -> None:
    if failure is None:
        logger.info("a filter returned before the stream had ended")
    elif isinstance(failure, WIRE_FAULTS):
        logger.error("the agent's stream was ended: %s: %s", type(failure).__name__, failure)
    else:
        logger.error("a filter ended the stream", exc_info=failure)
