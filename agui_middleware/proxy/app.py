"""The proxy: configuration, and for each request an exchange with the upstream."""

import logging
import ssl
from types import TracebackType
from typing import Self

import httpx
from starlette.types import Receive, Scope, Send

from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.proxy.connections import Connections, one_connection
from agui_middleware.proxy.forwarded_headers import CHUNKED, Headers, for_upstream, framing
from agui_middleware.proxy.forwarding import ClientLeft, RequestBody, answer, forward
from agui_middleware.proxy.redirects import Redirects
from agui_middleware.proxy.target import Unforwardable, Upstream


class Proxy:
    """An ASGI app that passes each HTTP request on to the server at `upstream`, and the response back, as it comes.

        app = AGUIMiddleware(Proxy("http://agent:3000"), settings)

    - `upstream`: http or https; its path comes before that of each request.
    - `connect_timeout`: seconds until a connection has to be there.
    - `idle_timeout`: seconds for which the upstream may say nothing, before its answer or within, or take nothing of a
      request's body. `None`: as long as it likes. A response as such may take any time.
    - `trust_forwarded`: a proxy before this one says in `X-Forwarded-*` and `Forwarded` who asks, and is believed. By
      default these are taken away, and said anew.
    - `ssl_context`: for an upstream with a certificate of one's own authority.
    - `transport`: what speaks HTTP, instead of `httpx.AsyncHTTPTransport`, one a connection.

    Nothing is buffered, decoded, retried or followed. A redirect to the upstream's own address becomes one to the proxy's.
    When the client disconnects, the upstream's connection is closed. If the upstream does not answer, the client gets
    502, or 504 after a timeout; a response that the upstream breaks off raises `UpstreamAborted` into the server, which
    breaks off too. WebSockets are refused. A path that servers read in different ways (`..`, `\\`, two slashes first,
    control characters) is refused with 400: a route that looks at paths could read another one than the upstream.

    Connections are kept, for one event loop, and closed when a server's lifespan ends, or by `aclose()`. Raises `ValueError`
    where `upstream` is no such URL.
    """

    def __init__(
        self,
        upstream: str,
        *,
        connect_timeout: float = 10.0,
        idle_timeout: float | None = 300.0,
        trust_forwarded: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._upstream = Upstream(upstream)
        self._trust_forwarded = trust_forwarded
        timeout = httpx.Timeout(idle_timeout, connect=connect_timeout, pool=None)
        self._timeout = timeout.as_dict()
        # Made once for all connections, and without certificates where there is nothing to vouch for: they take their time.
        context = ssl_context or httpx.create_ssl_context(self._upstream.url.scheme == "https", trust_env=False)
        self._log = RateLimitedLog(logging.getLogger("agui_middleware"))
        self._transport = transport or Connections(lambda: one_connection(context))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request. Raises `UpstreamAborted` where the response cannot be brought to its end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})  # before it is accepted: servers answer 403
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            target = self._upstream.target(scope)
        except Unforwardable as why:
            await answer(400, f"The request cannot be passed on: {why}.", send)
            return
        body = RequestBody(receive)
        try:
            delimited = framing(scope["headers"]) or await _framing_of(body)
        except ClientLeft:
            return
        headers = for_upstream(scope, self._upstream.host, self._trust_forwarded) + delimited
        extensions = {"timeout": self._timeout, "target": target}
        request = httpx.Request(
            scope["method"], self._upstream.url, headers=headers, stream=body, extensions=extensions
        )
        redirects = Redirects(self._upstream.url, scope.get("root_path", ""))
        await forward(self._transport, request, body, send, redirects, self._log)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self.aclose()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.aclose()


async def _framing_of(body: RequestBody) -> Headers:
    """Of a request without a word on it: HTTP/1.1 means that there is no body, HTTP/2 need not say."""
    return [] if await body.empty() else CHUNKED
