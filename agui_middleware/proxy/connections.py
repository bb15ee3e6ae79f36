"""The connections to one upstream: each request has one of its own, and they are used again."""

import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import httpx

# Seconds. Servers close what is idle for 5 (Node, uvicorn); a request that meets that is lost, and no POST may be repeated.
KEPT_OPEN = 4.0


def one_connection(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    """A transport for one request at a time."""
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=httpx.Limits(keepalive_expiry=KEPT_OPEN))


class Connections(httpx.AsyncBaseTransport):
    """As many of the transports that `make` makes as there are requests at once, and those that are idle.

    A single pool of httpcore's looks at every connection for each request and each end of one, and for each that is idle
    at all the others: hundreds of streams that end at once hold up the event loop for seconds. This looks at one.
    """

    def __init__(
        self, make: Callable[[], httpx.AsyncBaseTransport], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._clock = clock
        self._idle: deque[tuple[float, httpx.AsyncBaseTransport]] = deque()  # since when; the freshest is taken first
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises `httpx.TransportError`, and what the request's stream raises; the connection is closed then."""
        transport = self._idle.pop()[1] if self._idle else self._make()
        response = await transport.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = PooledBody(response.stream, lambda: self._take_back(transport))
        return response

    async def _take_back(self, transport: httpx.AsyncBaseTransport) -> None:
        now = self._clock()
        if self._closed:
            await transport.aclose()
        else:
            self._idle.append((now, transport))
        while self._idle and self._idle[0][0] < now - KEPT_OPEN:
            await self._idle.popleft()[1].aclose()

    async def aclose(self) -> None:
        """Close what is idle, and what is not when it is."""
        self._closed = True
        while self._idle:
            await self._idle.popleft()[1].aclose()


class PooledBody(httpx.AsyncByteStream):
    """A response's body, whose connection is given back with it."""

    def __init__(self, stream: httpx.AsyncByteStream, give_back: Callable[[], Awaitable[None]]) -> None:
        self._stream = stream
        self._give_back = give_back
        self._parts: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._parts = self._stream.__aiter__()
        return self._parts  # itself, and not another generator around it: each part would pass through

    async def aclose(self) -> None:
        """To be called once. Nothing of the stream is left to the garbage collector, which trio warns of."""
        await self._stream.aclose()
        # httpcore's are generators in generators, and to close the outermost leaves the others where they are. On a closed
        # connection they all run to their end.
        with suppress(httpx.TransportError, StopAsyncIteration):
            while self._parts is not None:
                await anext(self._parts)
        await self._give_back()
