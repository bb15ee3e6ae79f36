"""The connections to one upstream: each request has a connection of its own, which is then reused."""

import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import httpx

# Seconds. Node and uvicorn close connections that are idle for 5: a request sent at that moment is lost, and a POST must
# not be repeated.
KEPT_OPEN = 4.0


def one_connection(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    """A transport for one request at a time."""
    return httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=httpx.Limits(keepalive_expiry=KEPT_OPEN))


class Connections(httpx.AsyncBaseTransport):
    """A pool of transports from `make`, one for each concurrent request.

    A pool of httpcore visits every connection whenever a request begins or ends, and for each idle one all the others:
    hundreds of streams that end at once block the event loop for seconds. This one takes constant time.
    """

    def __init__(
        self, make: Callable[[], httpx.AsyncBaseTransport], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._clock = clock
        self._idle: deque[tuple[float, httpx.AsyncBaseTransport]] = (
            deque()
        )  # with the time since when it is idle; the latest is reused first
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises `httpx.TransportError`, and what the request's stream raises; either closes the connection."""
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
        """Close idle connections now, and the others when their responses end."""
        self._closed = True
        while self._idle:
            await self._idle.popleft()[1].aclose()


class PooledBody(httpx.AsyncByteStream):
    """A response body that returns its connection to the pool when it is closed."""

    def __init__(self, stream: httpx.AsyncByteStream, give_back: Callable[[], Awaitable[None]]) -> None:
        self._stream = stream
        self._give_back = give_back
        self._parts: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        self._parts = self._stream.__aiter__()
        return self._parts  # not a generator around it, which would cost a step for each part

    async def aclose(self) -> None:
        """Close the stream; to be called once. No generator is left to the garbage collector: trio would warn."""
        await self._stream.aclose()
        # httpcore nests generators, and closing the outermost leaves the inner ones suspended. On a closed connection they
        # all run to their end.
        with suppress(httpx.TransportError, StopAsyncIteration):
            while self._parts is not None:
                await anext(self._parts)
        await self._give_back()
