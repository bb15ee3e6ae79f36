"""The proxy in process, on both event loops, with an upstream on a real socket."""

from collections.abc import AsyncIterator, Awaitable, Callable

import anyio
import httpx
import pytest
from starlette.types import Message

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.proxy import Proxy, UpstreamAborted
from tests.conftest import Run
from tests.proxy.upstream import EVENTS, LAST, PATIENCE, Upstream, chunk, listening, whole
from tests.robustness.exchange import Exchange, frame

PARTS = [frame({"type": "RAW", "event": number}) for number in range(3)]

Scenario = Callable[[Upstream, Proxy], Awaitable[None]]


def on_both(scenario: Scenario) -> Callable[[Run], None]:
    """The test of a scenario with an upstream, and a proxy before it."""

    def test(run: Run) -> None:
        async def main() -> None:
            async with listening() as upstream, Proxy(upstream.url, idle_timeout=PATIENCE) as proxy:
                await scenario(upstream, proxy)

        run(main)

    test.__doc__ = scenario.__doc__
    return test


@on_both
async def test_the_upstream_reads_each_part_before_the_client_writes_the_next(upstream: Upstream, proxy: Proxy) -> None:
    """Interlock: the client writes on when the upstream has read."""
    parts, written = anyio.create_memory_object_stream[Message](1)
    exchange = Exchange(headers=[(b"transfer-encoding", b"chunked")])

    async def receive() -> Message:
        try:
            return await written.receive()
        except anyio.EndOfStream:
            return await exchange.receive()

    async with parts, written, anyio.create_task_group() as tasks:
        tasks.start_soon(proxy, exchange.scope, receive, exchange.send)
        connection = await upstream.connection()
        for part in PARTS:
            await parts.send({"type": "http.request", "body": part, "more_body": True})
            assert await connection.part() == part
        parts.close()
        assert await connection.part() == b"{}"
        assert await connection.part() == b""
        await connection.send(whole(b"ok"))
    assert exchange.body == b"ok"


@on_both
async def test_the_client_reads_each_part_before_the_upstream_writes_the_next(upstream: Upstream, proxy: Proxy) -> None:
    exchange = Exchange()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exchange.run, proxy)
        connection = await upstream.connection()
        await connection.send(EVENTS)
        await exchange.until(lambda exchange: exchange.started)
        for number, part in enumerate(PARTS):
            await connection.send(chunk(part))
            await exchange.events_sent(number + 1)
        await connection.send(LAST)
    assert exchange.body == b"".join(PARTS)
    assert exchange.complete


@pytest.mark.parametrize("moment", ["in the request", "before the answer", "in the answer"])
def test_a_client_that_leaves_has_the_upstreams_connection_closed(run: Run, moment: str) -> None:
    async def main() -> None:
        async with listening() as upstream, Proxy(upstream.url) as proxy:
            more = [b"{"] if moment == "in the request" else []
            exchange = Exchange(headers=[(b"transfer-encoding", b"chunked")], body=[*more, b"}"])
            if moment == "in the request":
                exchange._body.pop()  # which never comes
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(exchange.run, proxy)
                connection = await upstream.connection()
                assert await connection.part() in (b"{", b"}")
                if moment == "in the answer":
                    await connection.send(EVENTS + chunk(PARTS[0]))
                    await exchange.events_sent(1)
                exchange.disconnect()
                await connection.closed()
            assert exchange.started == (moment == "in the answer")
            assert not exchange.complete

    run(main)


@on_both
async def test_an_answer_before_the_body_was_read_is_handed_on(upstream: Upstream, proxy: Proxy) -> None:
    """The upstream reads what it does not want, as Node does, and the client is told."""
    size = 1 << 24
    exchange = Exchange(headers=[(b"content-length", b"%d" % size)], body=[bytes(size)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(exchange.run, proxy)
        connection = await upstream.connection()
        await connection.send(whole(b"too large", status=b"413 Content Too Large"))
        await connection.read(size)
    assert (exchange.sent[0]["status"], exchange.body) == (413, b"too large")


@on_both
async def test_connections_are_used_again(upstream: Upstream, proxy: Proxy) -> None:
    connection = None
    for _ in range(3):
        exchange = Exchange()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(exchange.run, proxy)
            connection = await upstream.connection() if connection is None else await connection.head()
            assert await connection.body() == b"{}"
            await connection.send(EVENTS + chunk(PARTS[0]) + LAST)
        assert exchange.complete
    assert upstream.accepted == 1


@pytest.mark.parametrize("framing", [[], [(b"transfer-encoding", b"chunked")]])
async def test_a_client_that_leaves_before_its_request_is_read_is_not_answered(
    framing: list[tuple[bytes, bytes]],
) -> None:
    async with listening() as upstream, Proxy(upstream.url) as proxy:
        exchange = Exchange(headers=framing, body=[b""])
        exchange.disconnect()

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        await proxy(exchange.scope, receive, exchange.send)
    assert not exchange.sent


async def test_a_client_is_seen_to_leave_behind_a_body_that_the_upstream_did_not_want() -> None:
    class Forever(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            exchange.disconnect()
            await anyio.sleep_forever()
            yield b""

    class Early(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=Forever())

    exchange = Exchange(headers=[(b"content-length", b"6")], body=[b"un", b"want", b"ed"])
    with anyio.fail_after(PATIENCE):
        await exchange.run(Proxy("http://agent", transport=Early()))
    assert exchange.started
    assert not exchange.complete


async def test_websockets_are_refused() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await AGUIMiddleware(Proxy("http://nowhere.invalid"), Settings())({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1000}]


class TestFailure:
    """What has no answer is answered; what breaks off breaks off."""

    async def answer_of(self, proxy: Proxy, **request: object) -> tuple[int, bytes]:
        exchange = Exchange(**request)  # type: ignore[arg-type]
        await exchange.run(proxy)
        assert exchange.complete
        return exchange.sent[0]["status"], exchange.body

    async def test_nobody_listens(self) -> None:
        async with listening() as upstream:
            pass
        async with Proxy(upstream.url) as proxy:
            assert await self.answer_of(proxy) == (502, b"The agent's server cannot be reached.\n")

    @pytest.mark.parametrize("said", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-"])
    async def test_no_answer_or_none_that_is_http(self, said: bytes) -> None:
        async with listening() as upstream, Proxy(upstream.url) as proxy, anyio.create_task_group() as tasks:

            async def upstream_says() -> None:
                connection = await upstream.connection()
                await connection.send(said)
                await connection.stream.aclose()

            tasks.start_soon(upstream_says)
            status, text = await self.answer_of(proxy)
            assert (status, text) == (502, b"The agent's server closed the connection without a valid answer.\n")

    async def test_an_upgrade_that_nobody_asked_for(self) -> None:
        async with listening() as upstream, Proxy(upstream.url) as proxy, anyio.create_task_group() as tasks:

            async def upgrade() -> None:
                connection = await upstream.connection()
                await connection.send(
                    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"
                )
                await connection.closed()

            tasks.start_soon(upgrade)
            assert (await self.answer_of(proxy))[0] == 502

    @pytest.mark.parametrize("body", [(b"{}",), (bytes(1 << 24),)])
    async def test_it_takes_too_long(self, body: tuple[bytes]) -> None:
        """The first request is read and not answered; the second is more than a socket takes unread."""
        async with listening() as upstream, Proxy(upstream.url, idle_timeout=0.05) as proxy:
            headers = [(b"content-length", b"%d" % len(body[0]))]
            assert await self.answer_of(proxy, headers=headers, body=body) == (
                504,
                b"The agent's server did not answer in time.\n",
            )

    async def test_a_connection_takes_too_long(self) -> None:
        def refuse(_: httpx.Request) -> httpx.Response:
            raise httpx.ConnectTimeout("")

        proxy = Proxy("http://agent", transport=httpx.MockTransport(refuse))
        assert await self.answer_of(proxy) == (504, b"The agent's server did not accept a connection in time.\n")

    async def test_a_header_that_cannot_be_sent(self) -> None:
        async with listening() as upstream, Proxy(upstream.url) as proxy:
            status, _ = await self.answer_of(proxy, headers=[(b"x", b"a\x00b")])
            assert status == 400

    @pytest.mark.parametrize("how", ["closes", "falls silent", "talks nonsense"])
    @pytest.mark.parametrize("settings", [None, Settings(), Settings(routes=[Route(visibility="hidden")])])
    async def test_it_breaks_off(self, how: str, settings: Settings | None, caplog: pytest.LogCaptureFixture) -> None:
        """The client gets what was whole, half an event at most, and no end."""
        async with listening() as upstream, Proxy(upstream.url, idle_timeout=0.5) as proxy:
            exchange = Exchange()

            async def break_off() -> None:
                connection = await upstream.connection()
                await connection.send(EVENTS + chunk(PARTS[0]) + chunk(b'data: {"type":'))
                await exchange.events_sent(1)
                if how == "closes":
                    await connection.stream.aclose()
                elif how == "talks nonsense":
                    await connection.send(b"nonsense\r\n")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(break_off)
                app = proxy if settings is None else AGUIMiddleware(proxy, settings)
                with pytest.raises(UpstreamAborted):
                    await exchange.run(app)
        assert not exchange.complete
        assert exchange.body.startswith(PARTS[0])
        assert exchange.body.removeprefix(PARTS[0]) in (b"", b'data: {"type":')
        assert f"the upstream broke off a response to POST {upstream.url}/agent: " in caplog.text


async def test_a_hundred_requests_that_the_upstream_does_not_answer_are_three_records(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("")

    proxy = Proxy("http://agent", transport=httpx.MockTransport(refuse))
    for _ in range(100):
        await Exchange().run(proxy)
    assert [vars(record)["count"] for record in caplog.records] == [1, 10, 100]
