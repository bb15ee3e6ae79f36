"""Which headers pass, and where a request goes."""

from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from agui_middleware.proxy import Proxy
from tests.proxy.upstream import Connection, Upstream, listening, whole
from tests.robustness.exchange import Exchange

Pairs = list[tuple[bytes, bytes]]


async def passed(
    exchange: Exchange, answer: bytes = whole(b""), path: str = "", app: Any = None, **options: Any
) -> Connection:
    """What arrives of the exchange's request at an upstream that gives this answer."""
    async with listening() as upstream, Proxy(upstream.url + path, **options) as proxy:
        return await _passed(upstream, exchange, answer, proxy if app is None else app(proxy))


async def _passed(upstream: Upstream, exchange: Exchange, answer: bytes, app: Any) -> Connection:
    parts: list[Any] = list(exchange._body)
    sent = b"".join(part["body"] for part in parts)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exchange.run, app)
        connection = await upstream.connection()
        assert await connection.body() == sent
        await connection.send(answer)
    return connection


HOP_BY_HOP: Pairs = [
    (b"connection", b"close, X-Private"),
    (b"connection", b"x-other"),
    (b"x-private", b"1"),
    (b"x-other", b"1"),
    (b"keep-alive", b"timeout=5"),
    (b"proxy-authorization", b"Basic x"),
    (b"proxy-authenticate", b"Basic"),
    (b"proxy-connection", b"keep-alive"),
    (b"proxy", b"http://elsewhere"),
    (b"te", b"trailers"),
    (b"trailer", b"x-late"),
    (b"upgrade", b"h2c"),
    (b"http2-settings", b"x"),
]
ADDED = {b"host", b"via", b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host"}


async def test_a_requests_headers_pass_but_those_of_its_connection() -> None:
    ours: Pairs = [(b"Accept", b"text/event-stream"), (b"x-twice", b"1"), (b"cookie", b"a=1"), (b"x-twice", b"2")]
    exchange = Exchange(headers=[(b"content-length", b"2"), (b"expect", b"100-continue"), *HOP_BY_HOP, *ours])
    connection = await passed(exchange)
    rest = [(name, value) for name, value in connection.headers if name not in ADDED]
    assert rest == [*((name.lower(), value) for name, value in ours), (b"content-length", b"2")]


async def test_a_responses_headers_pass_but_those_of_its_connection() -> None:
    fields = [name + b": " + value for name, value in HOP_BY_HOP if name != b"connection"]
    kept = [b"set-cookie: a=1", b"set-cookie: b=2", b"content-encoding: gzip", b"server: theirs"]
    exchange = Exchange()
    await passed(exchange, whole(b"\x1f\x8bnot decoded", *fields, b"connection: x-private, x-other", *kept))
    expected = [tuple(line.split(b": ")) for line in kept]
    assert exchange.sent[0]["headers"] == [(b"content-length", b"13"), *expected]
    assert exchange.body == b"\x1f\x8bnot decoded"


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ([(b"content-length", b"2")], [b"{}"], [(b"content-length", b"2")]),
        ([(b"transfer-encoding", b"chunked")], [b"{}"], [(b"transfer-encoding", b"chunked")]),
        (
            [(b"transfer-encoding", b"chunked"), (b"content-length", b"3")],
            [b"{}"],
            [(b"transfer-encoding", b"chunked")],
        ),
        ([(b"connection", b"content-length"), (b"content-length", b"2")], [b"{}"], [(b"content-length", b"2")]),
        ([], [b"{}"], [(b"transfer-encoding", b"chunked")]),  # as HTTP/2 may have it
        ([], [b"", b"{}"], [(b"transfer-encoding", b"chunked")]),
        ([], [b""], []),
    ],
)
async def test_the_body_is_delimited_in_one_way(headers: Pairs, body: list[bytes], expected: Pairs) -> None:
    connection = await passed(Exchange(headers=headers, body=body))
    framing = (b"content-length", b"transfer-encoding")
    assert [field for field in connection.headers if field[0] in framing] == expected


SPOOFED: Pairs = [
    (b"host", b"public.example"),
    (b"x-forwarded-for", b"10.0.0.1"),
    (b"x-forwarded-for", b"10.0.0.2"),
    (b"x-forwarded-proto", b"https"),
    (b"x-forwarded-host", b"outer.example"),
    (b"forwarded", b"for=10.0.0.1"),
    (b"x-real-ip", b"10.0.0.1"),
]


async def test_who_asks_is_said_anew() -> None:
    connection = await passed(Exchange(headers=[*SPOOFED, (b"via", b"2 edge")]))
    assert connection.values(b"x-forwarded-for") == [b"127.0.0.1"]
    assert connection.values(b"x-forwarded-proto") == [b"http"]
    assert connection.values(b"x-forwarded-host") == [b"public.example"]
    assert connection.values(b"via") == [b"2 edge", b"1.1 agui-middleware"]
    assert not connection.values(b"forwarded") + connection.values(b"x-real-ip")


async def test_a_proxy_before_this_one_is_believed_where_that_is_asked_for() -> None:
    connection = await passed(Exchange(headers=SPOOFED), trust_forwarded=True)
    assert connection.values(b"x-forwarded-for") == [b"10.0.0.1, 10.0.0.2, 127.0.0.1"]
    assert connection.values(b"x-forwarded-proto") == [b"https"]
    assert connection.values(b"x-forwarded-host") == [b"outer.example"]
    assert connection.values(b"forwarded") == [b"for=10.0.0.1"]


async def test_the_host_is_the_upstreams_own() -> None:
    async with listening() as upstream, Proxy(upstream.url) as proxy:
        connection = await _passed(upstream, Exchange(headers=SPOOFED), whole(b""), proxy)
        assert connection.values(b"host") == [upstream.url.removeprefix("http://").encode()]


async def test_a_client_without_an_address_has_none_said() -> None:
    exchange = Exchange()
    exchange.scope["client"] = None
    connection = await passed(exchange)
    assert not connection.values(b"x-forwarded-for")


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(
    "name",
    [b"X_Forwarded_For", b"x-forwarded_host", b"X_Original_URL", b"x_real_ip", b"Transfer_Encoding", b"content_length"],
)
async def test_a_name_with_underscores_is_not_a_way_around(name: bytes, trusted: bool) -> None:
    """CGI, and WSGI with it, takes one for the other."""
    headers = [(name, b"disguised"), (b"session_id", b"kept")]
    connection = await passed(Exchange(headers=headers), trust_forwarded=trusted)
    assert b"disguised" not in b"".join(value for _, value in connection.headers)
    assert connection.values(b"session_id") == [b"kept"]


async def test_no_header_names_another_path() -> None:
    connection = await passed(Exchange(headers=[(b"X-Original-URL", b"/admin"), (b"x-rewrite-url", b"/admin")]))
    assert b"/admin" not in b"".join(value for _, value in connection.headers)


@pytest.mark.parametrize(
    ("path", "raw", "base", "query", "target"),
    [
        ("/agent", b"/agent", "", b"", b"/agent"),
        ("/agent", b"/agent", "/base/", b"a=%20&a=+", b"/base/agent?a=%20&a=+"),
        ("/a b/ü/c/d", b"/a%20b/%C3%BC/c%2Fd", "/base", b"", b"/base/a%20b/%C3%BC/c%2Fd"),
        ("/agent//", b"/%61gent//", "", b"?", b"/%61gent//??"),
        ("/a b/ü", None, "", b"", b"/a%20b/%C3%BC"),
        ("/agent", b"/another", "", b"", b"/agent"),  # routes look at the path: what they saw is asked for
        ("/.well-known/a..b/...", b"/.well-known/a..b/...", "", b"", b"/.well-known/a..b/..."),
    ],
)
async def test_the_path_and_the_query_pass_as_they_were_spelled(
    path: str, raw: bytes | None, base: str, query: bytes, target: bytes
) -> None:
    exchange = Exchange(path, method="GET", query=query, body=[b""])
    exchange.scope["raw_path"] = raw
    connection = await passed(exchange, path=base)
    assert connection.line == b"GET " + target + b" HTTP/1.1"


@pytest.mark.parametrize("raw", [b"/agents/the%20agent", None])
async def test_a_proxy_that_is_mounted_passes_its_own_path(raw: bytes | None) -> None:
    exchange = Exchange("/agents/the agent")
    exchange.scope["raw_path"] = raw
    connection = await passed(exchange, app=lambda proxy: Starlette(routes=[Mount("/agents", proxy)]))
    assert connection.line == b"POST /the%20agent HTTP/1.1"


@pytest.mark.parametrize(
    "path",
    [
        *("/a/../public", "/..", "/./public", "/a/..", "/..;/public"),
        *("/a\\..\\public", "/public\\agent", "/public/agent\0"),
        *("*", "http://elsewhere/public", "/agent#fragment"),
        *("//x/agent", "//x:1/agent", "//x@y/agent", "///agent", "x:/agent", "http:agent", "agent"),
        *("/public/a\nb", "/public/a\rb", "/public/a\x7fb", "/public/a\x85b"),
    ],
)
async def test_a_path_that_servers_read_in_different_ways_is_refused(path: str) -> None:
    exchange = Exchange(path)
    await exchange.run(Proxy("http://nowhere.invalid"))
    assert exchange.sent[0]["status"] == 400
    assert exchange.body.startswith(b"The request cannot be forwarded: a ")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("agent:3000", "is not of the form 'http://host:port/path'"),
        ("ftp://agent", "is not of the form"),
        ("http://", "is not of the form"),
        ("http://agent:port", "is not a URL"),
        ("http://user:secret@agent", "credentials, a query or a fragment is not supported"),
        ("http://agent?a=1", "is not supported"),
        ("http://agent#a", "is not supported"),
    ],
)
def test_a_wrong_upstream_says_what_is_allowed(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        Proxy(url)
    assert "secret" not in str(error.value)
