"""The proxy behind a real uvicorn, between a real client and an upstream on a real socket."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import httpx
import pytest

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.proxy import Proxy
from agui_middleware.testing import encode_events
from tests.notation import stream
from tests.proxy.servers import http, serving
from tests.proxy.upstream import EVENTS, LAST, PATIENCE, Connection, Upstream, chunk, listening, whole

ATTRIBUTED = stream("RS r; SUB+ s; TS n @s; TC n psst @s; TE n @s; SUB- s; TS m; TC m hi; TE m; RF r")
FRAMES = [encode_events([event]) for event in ATTRIBUTED]
INLINE = encode_events(stream("RS r; TS n; TC n psst; TE n; TS m; TC m hi; TE m; RF r"))
OLD = {"x-ag-ui-client-version": "0.0.58"}

every_parser = pytest.mark.parametrize("parser", ["h11", "httptools"])
every_depth = pytest.mark.parametrize("wrapped", [False, True])


@asynccontextmanager
async def chain(parser: str = "h11", wrapped: bool = True) -> AsyncIterator[tuple[Upstream, str]]:
    """An upstream, and the URL of a proxy before it."""
    async with listening() as upstream:
        proxy = Proxy(upstream.url, idle_timeout=PATIENCE)
        async with serving(AGUIMiddleware(proxy, Settings()) if wrapped else proxy, http=parser) as url:
            yield upstream, url


async def fetch(upstream: Upstream, url: str, method: str, *answers: bytes, **headers: str) -> list[httpx.Response]:
    """The responses to a client that asks as often as the upstream has answers, all on one connection."""

    async def respond() -> None:
        connection = await upstream.connection()
        for number, answer in enumerate(answers):
            if number:
                await connection.head()
            await connection.body()
            await connection.send(answer)

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(http())
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(respond)
        return [await client.request(method, f"{url}/agent", headers=headers) for _ in answers]


@every_parser
@every_depth
async def test_every_event_arrives_before_the_upstream_sends_the_next(parser: str, wrapped: bool) -> None:
    async with chain(parser, wrapped) as (upstream, url), http() as client, anyio.create_task_group() as tasks:
        sent: list[Connection] = []

        async def begin() -> None:
            connection = await upstream.connection()
            assert await connection.body() == b"{}"
            await connection.send(EVENTS)
            sent.append(connection)

        tasks.start_soon(begin)
        async with client.stream("POST", f"{url}/agent", content=b"{}") as response:
            chunks = response.aiter_raw()
            for frame in FRAMES:
                await sent[0].send(chunk(frame))
                seen = b""
                while seen != frame:
                    seen += await anext(chunks)
            await sent[0].send(LAST)
            assert [rest async for rest in chunks] == []


@every_parser
async def test_what_is_rewritten_arrives_as_the_old_client_reads_it(parser: str) -> None:
    async with chain(parser) as (upstream, url):
        answer = EVENTS + b"".join(map(chunk, FRAMES)) + LAST
        [response] = await fetch(upstream, url, "POST", answer, **OLD)
    assert response.content == INLINE
    assert response.headers["x-ag-ui-downgrade"] == "client=0.0.58; subagents=inline"


@every_parser
@pytest.mark.parametrize("code", ["br", "gzip"])
async def test_what_is_compressed_passes_as_it_is_and_is_not_asked_for_where_it_is_rewritten(
    parser: str, code: str
) -> None:
    body = gzip.compress(b"".join(FRAMES))
    head = b"content-type: text/event-stream", b"content-encoding: " + code.encode()
    asked: list[list[bytes]] = []
    async with chain(parser) as (upstream, url), http() as client:
        for version in ("2.0.0", "0.0.58"):
            headers = {"accept-encoding": code, "x-ag-ui-client-version": version}

            async def respond() -> None:
                connection = await upstream.connection()
                asked.append(connection.values(b"accept-encoding"))
                await connection.send(whole(body, *head, b"connection: close"))
                await connection.closed()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(respond)
                async with client.stream("POST", f"{url}/agent", headers=headers) as response:
                    assert b"".join([part async for part in response.aiter_raw()]) == body
                    assert response.headers["content-encoding"] == code
    assert asked == [[code.encode()], []]


@every_parser
@every_depth
@pytest.mark.parametrize(
    ("method", "answer", "status", "length"),
    [
        ("HEAD", whole(b"", b"x-a: 1").replace(b"length: 0", b"length: 7"), 200, "7"),
        ("POST", b"HTTP/1.1 204 No Content\r\nx-a: 1\r\n\r\n", 204, None),
        ("GET", b'HTTP/1.1 304 Not Modified\r\nx-a: 1\r\netag: "e"\r\n\r\n', 304, None),
        ("POST", whole(b"", b"x-a: 1", b"location: /elsewhere", status=b"307 Temporary Redirect"), 307, "0"),
        ("DELETE", whole(b"", b"x-a: 1", status=b"405 Method Not Allowed"), 405, "0"),
    ],
)
async def test_what_has_no_body_passes_and_no_redirect_is_followed(
    parser: str, wrapped: bool, method: str, answer: bytes, status: int, length: str | None
) -> None:
    async with chain(parser, wrapped) as (upstream, url):
        response, again = await fetch(upstream, url, method, answer, whole(b"next"))
    assert (response.status_code, response.headers.get("content-length")) == (status, length)
    assert (response.headers["x-a"], response.content) == ("1", b"")
    assert again.content == (b"" if method == "HEAD" else b"next")


@every_parser
@every_depth
@pytest.mark.parametrize("begun", [False, True])
async def test_a_client_that_leaves_has_the_upstreams_connection_closed(
    parser: str, wrapped: bool, begun: bool
) -> None:
    async with chain(parser, wrapped) as (upstream, url):
        address = url.removeprefix("http://")
        host, port = address.split(":")
        client = await anyio.connect_tcp(host, int(port))
        await client.send(b"POST /agent HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
        connection = await upstream.connection()
        assert await connection.body() == b"{}"
        if begun:
            await connection.send(EVENTS + chunk(FRAMES[0]))
            seen = b""
            while FRAMES[0] not in seen:
                seen += await client.receive()
        await client.aclose()
        await connection.closed()


@every_parser
@every_depth
async def test_an_upstream_that_breaks_off_breaks_off_the_client(parser: str, wrapped: bool) -> None:
    """The client is told that this is not all: there is no last chunk, and the connection ends."""
    async with chain(parser, wrapped) as (upstream, url), http() as client, anyio.create_task_group() as tasks:
        arrived = anyio.Event()

        async def break_off() -> None:
            connection = await upstream.connection()
            await connection.body()
            await connection.send(EVENTS + chunk(FRAMES[0]))
            await arrived.wait()
            await connection.stream.aclose()

        async def read() -> None:
            async with client.stream("POST", f"{url}/agent", headers=OLD) as response:
                async for part in response.aiter_raw():
                    seen.append(part)
                    arrived.set()

        tasks.start_soon(break_off)
        seen: list[bytes] = []
        with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
            await read()
        assert b"".join(seen) == FRAMES[0]


@every_parser
@every_depth
async def test_a_slow_client_slows_the_upstream(parser: str, wrapped: bool) -> None:
    """However much there is to send, all but a little of what is on its way waits in sockets.

    What the process itself holds is measured: sockets grow as the kernel likes (tcp_rmem allows 32 MiB on some machines).
    """
    piece = encode_events(stream("RS r")) if wrapped else b""
    piece += b": " + bytes(b"x" * 65536) + b"\n\n"
    count, held = 1000, 8 * 1024 * 1024
    written = 0

    async def write(upstream: Upstream) -> None:
        nonlocal written
        connection = await upstream.connection()
        await connection.body()
        await connection.send(EVENTS)
        for _ in range(count):
            await connection.send(chunk(piece))
            written += len(piece)
        await connection.send(LAST)

    async with chain(parser, wrapped) as (upstream, url), anyio.create_task_group() as tasks:
        tasks.start_soon(write, upstream)
        host, port = url.removeprefix("http://").split(":")
        async with await anyio.connect_tcp(host, int(port)) as client:
            await client.send(b"POST /agent HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            tail = b""
            tracemalloc.start()
            try:
                while not tail.endswith(LAST):
                    for _ in range(20):  # turns in which the others could run ahead
                        await asyncio.sleep(0)
                    tail = (tail + await client.receive())[-len(LAST) :]
                most = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    assert written == count * len(piece)
    assert most < held


@every_depth
async def test_many_streams_share_what_connections_they_can(wrapped: bool) -> None:
    """Twenty at once take twenty connections; one after another they take one."""
    async with chain("h11", wrapped) as (upstream, url):
        together = 20
        waiting: list[Connection] = []

        async def respond_when_all_are_there() -> None:
            waiting.extend([await upstream.connection() for _ in range(together)])
            for connection in waiting:
                await connection.body()
                await connection.send(EVENTS + b"".join(map(chunk, FRAMES)) + LAST)

        async def ask(client: httpx.AsyncClient) -> None:
            response = await client.post(f"{url}/agent", headers=OLD)
            assert response.content == (INLINE if wrapped else b"".join(FRAMES))

        async with http() as client, anyio.create_task_group() as tasks:
            tasks.start_soon(respond_when_all_are_there)
            for _ in range(together):
                tasks.start_soon(ask, client)
        assert upstream.accepted == together

        async def respond_again(connection: Connection) -> None:
            while True:
                await (await connection.head()).body()
                await connection.send(whole(b"again"))

        async with http() as client, anyio.create_task_group() as tasks:
            for connection in waiting:
                tasks.start_soon(respond_again, connection)
            for _ in range(together):
                assert (await client.post(f"{url}/agent")).content == b"again"
            tasks.cancel_scope.cancel()
        assert upstream.accepted == together


async def test_the_end_of_a_servers_lifespan_closes_the_connections() -> None:
    kept: list[Connection] = []

    async def respond() -> None:
        kept.append(await upstream.connection())
        await kept[0].send(whole(b"ok"))

    async with listening() as upstream:
        app = AGUIMiddleware(Proxy(upstream.url), Settings())
        async with serving(app) as url, http() as client, anyio.create_task_group() as tasks:
            tasks.start_soon(respond)
            assert (await client.get(url)).content == b"ok"
        await kept[0].closed()


async def test_settings_of_the_environment_about_proxies_are_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with chain() as (upstream, url):
        [response] = await fetch(upstream, url, "GET", whole(b"ok"))
    assert response.content == b"ok"


@every_parser
async def test_routes_decide_as_they_do_in_process(parser: str) -> None:
    settings = Settings(routes=[Route(path="/agent", visibility="hidden")])
    hidden = encode_events(stream("RS r; TS m; TC m hi; TE m; RF r"))
    answer = EVENTS + b"".join(map(chunk, FRAMES)) + LAST
    head = b"content-type: text/event-stream", b"content-encoding: gzip"
    unreadable = whole(gzip.compress(b"".join(FRAMES)), *head)
    async with listening() as upstream, serving(AGUIMiddleware(Proxy(upstream.url), settings), http=parser) as url:
        seen, refused = await fetch(upstream, url, "POST", answer, unreadable)
    assert seen.content == hidden
    assert refused.status_code == 500
