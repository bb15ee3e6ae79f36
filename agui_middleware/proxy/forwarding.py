"""One request and its response, and what happens when either side ends early."""

import logging
from collections.abc import Sequence
from typing import Final

import anyio
import httpx
from starlette.types import Message, Receive, Send

from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.proxy.forwarded_headers import end_to_end
from agui_middleware.proxy.redirects import Redirects

# RFC 9110 §15: clients treat a larger status as invalid.
LAST_STATUS: Final = 599


class UpstreamAborted(Exception):
    """The upstream failed within a response. Raised into the server, which then breaks off its own response.

    ASGI has no other way to tell a client that a response is incomplete.
    """


class ClientDisconnected(Exception):
    """The client disconnected before the upstream had read the request."""


class RequestBody(httpx.AsyncByteStream):
    """The body of an ASGI request, read at the pace of the upstream. `over` is set when the upstream stops reading it."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first: bytes | None = None
        self._more = True
        self.over: anyio.Event = anyio.Event()

    async def empty(self) -> bool:
        """Whether there is no body. Waits for its first part."""
        self._first = await self._next()
        return self._first is None

    def __aiter__(self) -> "RequestBody":
        return self

    async def __anext__(self) -> bytes:
        part, self._first = self._first, None
        part = part or await self._next()
        if part is None:
            self.over.set()
            raise StopAsyncIteration
        return part

    async def _next(self) -> bytes | None:
        while self._more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            self._more = message.get("more_body", False)
            if body := message.get("body", b""):
                return bytes(body)
        return None

    async def client_disconnected(self) -> None:
        """Wait for the client to disconnect, once the upstream has stopped reading the body."""
        await self.over.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass  # a part of the body that the upstream did not read


async def forward(
    transport: httpx.AsyncBaseTransport,
    request: httpx.Request,
    body: RequestBody,
    send: Send,
    redirects: Redirects,
    log: RateLimitedLog,
) -> None:
    """Send the request, and stream the response to the client. Raises `UpstreamAborted`, and what `send` raises."""
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:

        async def cancel_on_disconnect() -> None:
            await body.client_disconnected()
            tasks.cancel_scope.cancel()

        tasks.start_soon(cancel_on_disconnect)
        try:
            await _relay(transport, request, body, send, redirects, log)
        except Exception as error:  # raised below, outside the task group, which would wrap it in an exception group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _relay(
    transport: httpx.AsyncBaseTransport,
    request: httpx.Request,
    body: RequestBody,
    send: Send,
    redirects: Redirects,
    log: RateLimitedLog,
) -> None:
    try:
        response = await transport.handle_async_request(request)
    except ClientDisconnected:
        return
    except httpx.TransportError as error:
        body.over.set()
        await _refuse(request, error, send, log)
        return
    body.over.set()
    try:
        if response.status_code > LAST_STATUS:
            await _refuse(request, httpx.RemoteProtocolError(f"status {response.status_code}"), send, log)
            return
        await _stream_response(response, send, redirects)
    except httpx.TransportError as error:
        key = ("broken off", type(error))
        log.log(key, logging.ERROR, "the upstream broke off a response to %s: %s", _name(request), _describe(error))
        raise UpstreamAborted(_describe(error)) from None
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _stream_response(response: httpx.Response, send: Send, redirects: Redirects) -> None:
    received = [(name.lower(), value) for name, value in response.headers.raw]
    headers = redirects.rewrite(end_to_end(received))
    if any(name == b"transfer-encoding" for name, _ in received):
        # With chunks the length is ignored (RFC 9112 §6.3), but a server would enforce it.
        headers = [(name, value) for name, value in headers if name != b"content-length"]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    assert isinstance(response.stream, httpx.AsyncByteStream)
    async for part in response.stream:  # the raw stream: `httpx.Response` would decode it
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def _refuse(request: httpx.Request, error: httpx.TransportError, send: Send, log: RateLimitedLog) -> None:
    """Tell the client what failed. The upstream's address goes into the log only."""
    status, text = next((status, text) for kind, status, text in _ANSWERS if isinstance(error, kind))
    message = "no response to %s, answered with %s: %s"
    log.log(("refused", type(error)), logging.ERROR, message, _name(request), status, _describe(error))
    await answer(status, text, send)


_ANSWERS: Sequence[tuple[type[httpx.TransportError], int, str]] = (
    (httpx.LocalProtocolError, 400, "The request cannot be forwarded: it is not valid HTTP."),
    (httpx.ConnectTimeout, 504, "The agent's server did not accept a connection in time."),
    (httpx.TimeoutException, 504, "The agent's server did not answer in time."),
    (httpx.ConnectError, 502, "The agent's server cannot be reached."),
    (httpx.TransportError, 502, "The agent's server closed the connection without a valid answer."),
)


async def answer(status: int, text: str, send: Send) -> None:
    """Send a response of the proxy's own: one line of plain text."""
    body = f"{text}\n".encode()
    fields = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    start: Message = {"type": "http.response.start", "status": status, "headers": fields}
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _name(request: httpx.Request) -> str:
    return f"{request.method} {request.url.copy_with(raw_path=request.extensions['target'])}"


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
