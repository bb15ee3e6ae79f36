"""One HTTP exchange with an ASGI app, in process: what the client does to it, and what it got."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Headers = Iterable[tuple[bytes, bytes]]
START = "http.response.start"
BODY = "http.response.body"
EVENT_STREAM: Message = {
    "type": START,
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8")],
}
END: Message = {"type": BODY, "body": b"", "more_body": False}


class Exchange:
    """A request, and the response as it came.

    `sent` holds the messages that reached the server. `on_send` is called with each one before it is recorded, and may
    raise what a server raises; messages in a wrong order are refused as servers refuse them. `disconnect()` is what the
    app's `receive` learns of, once the request was read.
    """

    def __init__(
        self,
        path: str = "/agent",
        *,
        method: str = "POST",
        headers: Headers = (),
        query: bytes = b"",
        body: Sequence[bytes] = (b"{}",),
        spec_version: str = "2.3",
        on_send: Callable[[Message], Any] | None = None,
        slow: bool = False,
    ) -> None:
        self.scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": spec_version},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("utf-8", "surrogateescape"),
            "root_path": "",
            "query_string": query,
            "headers": list(headers),
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 80),
            "extensions": {},
            "state": {},
        }
        self.sent: list[Message] = []
        self.on_send = on_send
        self._delay = 5 if slow else 1
        self._body = [{"type": "http.request", "body": part, "more_body": True} for part in body]
        self._body[-1]["more_body"] = False
        self._left = anyio.Event()
        self._grew = anyio.Event()

    async def run(self, app: ASGIApp) -> "Exchange":
        """Have `app` serve the request. Raises what it raises."""
        await app(self.scope, self.receive, self.send)
        return self

    async def receive(self) -> Message:
        if self._body:
            return self._body.pop(0)
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if self.on_send is not None:
            self.on_send(message)
        if message["type"] in (START, BODY) and (self.complete or self.started == (message["type"] == START)):
            raise RuntimeError(f"unexpected {message['type']!r}")
        for _ in range(self._delay):
            await anyio.lowlevel.checkpoint()  # as a server's flow control does
        self.sent.append(message)
        self._grew.set()
        self._grew = anyio.Event()
        if self.complete:
            self.disconnect()  # there is nothing more to say, and servers say so

    def disconnect(self) -> None:
        self._left.set()

    async def until(self, condition: Callable[["Exchange"], bool]) -> None:
        """Wait until what was sent fulfils the condition."""
        while not condition(self):
            await self._grew.wait()

    async def events_sent(self, count: int) -> None:
        """Wait until the client has got so many events."""
        await self.until(lambda exchange: len(exchange.events) >= count)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent if message["type"] == BODY)

    @property
    def events(self) -> list[Any]:
        """The events of the response, decoded. What is no JSON fails the test."""
        return events_of(self.body)

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def started(self) -> bool:
        return any(message["type"] == START for message in self.sent)

    @property
    def complete(self) -> bool:
        """Whether the end of the response was sent, once and last."""
        bodies = [message for message in self.sent if message["type"] == BODY]
        ends = [index for index, body in enumerate(bodies) if not body.get("more_body", False)]
        return ends == [len(bodies) - 1]


def events_of(stream: bytes) -> list[Any]:
    """The events of a whole SSE stream in the form the middleware writes: one `data: ` line, LF only."""
    assert b"\r" not in stream
    lines = [line for line in stream.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line.removeprefix(b"data: ")) for line in lines]


def frame(event: Mapping[str, Any]) -> bytes:
    return b"data: %b\n\n" % json.dumps(event, separators=(",", ":")).encode()


def sends(*parts: bytes, start: Message = EVENT_STREAM) -> ASGIApp:
    """An app that sends a start message, each part as a body, and the end."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start)
        for part in parts:
            await send(body(part))
        await send(END)

    return app


def body(part: bytes | bytearray | memoryview) -> Message:
    return {"type": BODY, "body": part, "more_body": True}
