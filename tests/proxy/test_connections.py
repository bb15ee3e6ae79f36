"""Which connection a request gets, and when those that nobody uses are closed."""

from collections.abc import AsyncIterator

import httpx
import pytest

from agui_middleware.proxy.connections import KEPT_OPEN, Connections


class Body(httpx.AsyncByteStream):
    closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"body"

    async def aclose(self) -> None:
        self.closed = True


class Transport(httpx.AsyncBaseTransport):
    """One that counts, and fails at `/fail`."""

    def __init__(self) -> None:
        self.requests = 0
        self.closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert not self.closed
        self.requests += 1
        if request.url.path == "/fail":
            raise httpx.ConnectError("")
        return httpx.Response(200, stream=Body())

    async def aclose(self) -> None:
        self.closed = True


class Made:
    """Connections, the transports that they made, and a clock that a test sets."""

    def __init__(self) -> None:
        self.transports: list[Transport] = []
        self.now = 0.0
        self.connections = Connections(self._make, lambda: self.now)

    def _make(self) -> Transport:
        self.transports.append(Transport())
        return self.transports[-1]

    async def ask(self, path: str = "/") -> httpx.Response:
        return await self.connections.handle_async_request(httpx.Request("GET", f"http://agent{path}"))

    @property
    def requests(self) -> list[int]:
        return [transport.requests for transport in self.transports]

    @property
    def closed(self) -> list[bool]:
        return [transport.closed for transport in self.transports]


@pytest.fixture
def made() -> Made:
    return Made()


async def test_a_request_takes_the_connection_that_was_used_last(made: Made) -> None:
    first, second = await made.ask(), await made.ask()
    await second.aclose()
    await first.aclose()
    await (await made.ask()).aclose()
    assert made.requests == [2, 1]


async def test_a_connection_is_lent_until_its_response_is_closed(made: Made) -> None:
    response = await made.ask()
    assert [part async for part in response.stream] == [b"body"]  # type: ignore[union-attr]  # it is an async one
    await made.ask()
    assert made.requests == [1, 1]
    await response.aclose()
    await made.ask()
    assert made.requests == [2, 1]


async def test_one_that_failed_is_not_used_again(made: Made) -> None:
    with pytest.raises(httpx.ConnectError):
        await made.ask("/fail")
    await made.ask()
    assert made.requests == [1, 1]


async def test_what_was_idle_for_too_long_is_closed_when_another_comes_back(made: Made) -> None:
    responses = [await made.ask() for _ in range(3)]
    await responses[0].aclose()
    made.now += KEPT_OPEN
    await responses[1].aclose()
    assert made.closed == [False, False, False]
    made.now += 0.1
    await responses[2].aclose()
    assert made.closed == [True, False, False]


async def test_the_end_closes_what_is_idle_at_once_and_what_is_not_when_it_is(made: Made) -> None:
    idle, busy = await made.ask(), await made.ask()
    await idle.aclose()
    await made.connections.aclose()
    assert made.closed == [True, False]
    await busy.aclose()
    assert made.closed == [True, True]
