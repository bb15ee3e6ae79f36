"""The proxy as an ASGI app: its configuration, and one exchange with the upstream for each request."""

import logging
import ssl
from types import TracebackType
from typing import Self

import httpx
from starlette.types import Receive, Scope, Send

from agui_middleware.filters.rate_limited_log import RateLimitedLog
from agui_middleware.proxy.connections import Connections, one_connection
from agui_middleware.proxy.forwarded_headers import CHUNKED, Headers, for_upstream, framing
from agui_middleware.proxy.forwarding import ClientDisconnected, RequestBody, answer, forward
from agui_middleware.proxy.redirects import Redirects
from agui_middleware.proxy.target import Unforwardable, Upstream


class Proxy:
    """An ASGI app that forwards each HTTP request to the server at `upstream`, and streams the response back.

        app = AGUIMiddleware(Proxy("http://agent:3000"), settings)

    - `upstream`: an http or https URL. Its path is put before the path of each request.
    - `connect_timeout`: how many seconds to wait for a connection.
    - `idle_timeout`: how many seconds the upstream may send nothing, before its response or within it, or read nothing of
      the request's body. `None`: no limit. The duration of a whole response is not limited.
    - `trust_forwarded`: keep the `X-Forwarded-*` and `Forwarded` headers of the request, because a proxy in front of this
      one sets them. By default they are removed and set anew.
    - `ssl_context`: for an upstream whose certificate comes from a private authority.
    - `transport`: sends the requests instead of a pool with one `httpx.AsyncHTTPTransport` for each connection.

    The proxy does not buffer, decode, retry, or follow redirects. A redirect to the upstream's own address is rewritten to
    the proxy's. When the client disconnects, the connection to the upstream is closed. If the upstream does not answer, the
    client gets 502, or 504 after a timeout. If the upstream breaks off a response, `UpstreamAborted` is raised into the
    server, which then breaks off its own. WebSockets are refused. A path that servers read in different ways (`..`, `\\`,
    two slashes first, control characters) is refused with 400: the upstream could read another path than the one that the
    routes were matched against.

    Connections are pooled for one event loop, and closed when the server's lifespan ends, or by `aclose()`. Raises
    `ValueError` if `upstream` is not such a URL.
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
        # Shared by all connections. Loading certificates takes long, so it is skipped for an upstream without TLS.
        context = ssl_context or httpx.create_ssl_context(self._upstream.url.scheme == "https", trust_env=False)
        self._log = RateLimitedLog(logging.getLogger("agui_middleware"))
        self._transport = transport or Connections(lambda: one_connection(context))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request. Raises `UpstreamAborted` if the upstream breaks off its response."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})  # closed before it is accepted: servers answer 403
        else:
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            target = self._upstream.target(scope)
        except Unforwardable as why:
            await answer(400, f"The request cannot be forwarded: {why}.", send)
            return
        body = RequestBody(receive)
        try:
            delimited = framing(scope["headers"]) or await _framing_of(body)
        except ClientDisconnected:
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
        """Close the connections: idle ones at once, the others when their responses end."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.aclose()


async def _framing_of(body: RequestBody) -> Headers:
    """The framing of a request whose headers name none: HTTP/1.1 has no body then, HTTP/2 may have one."""
    return [] if await body.empty() else CHUNKED
