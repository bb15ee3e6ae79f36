"""An upstream that does what a test says, byte by byte, on a real socket; and one behind a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import anyio
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

PATIENCE = 20.0  # seconds at most for what takes milliseconds on an idle machine
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def whole(body: bytes, *fields: bytes, status: bytes = b"200 OK") -> bytes:
    """A response with a length; `fields` are further lines of its head."""
    lines = [b"HTTP/1.1 " + status, b"content-length: %d" % len(body), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Connection:
    """The upstream's end of one connection."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._buffered = BufferedByteReceiveStream(stream)
        self.line = b""
        self.headers: list[tuple[bytes, bytes]] = []

    async def head(self) -> Self:
        """Read the head of the next request."""
        text = await self._buffered.receive_until(b"\r\n\r\n", 1 << 16)
        self.line, *lines = text.split(b"\r\n")
        pairs = (line.partition(b": ") for line in lines)
        self.headers = [(name.lower(), value) for name, _, value in pairs]
        return self

    def values(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key == name]

    async def part(self) -> bytes:
        """The next chunk of a body in chunks; empty at its end."""
        size = int(await self._buffered.receive_until(b"\r\n", 100), 16)
        return (await self._buffered.receive_exactly(size + 2))[:-2]

    async def body(self) -> bytes:
        """The rest of the request, however it is delimited."""
        if self.values(b"transfer-encoding"):
            return b"".join([part async for part in self._parts()])
        return await self.read(int(self.values(b"content-length")[0])) if self.values(b"content-length") else b""

    async def _parts(self) -> AsyncIterator[bytes]:
        while part := await self.part():
            yield part

    async def read(self, size: int) -> bytes:
        return await self._buffered.receive_exactly(size)

    async def send(self, data: bytes) -> None:
        await self.stream.send(data)

    async def closed(self) -> None:
        """Wait until the other side has closed the connection, whatever it says before."""
        try:
            while True:
                await self._buffered.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass


class Upstream:
    """Listens; each connection is handed to who accepts it. `accepted` counts them."""

    def __init__(self, url: str, connections: "anyio.abc.ObjectReceiveStream[Connection]") -> None:
        self.url = url
        self._connections = connections
        self.accepted = 0

    async def connection(self) -> Connection:
        """The next connection that comes, and the head of its request."""
        return await (await self._connections.receive()).head()


@asynccontextmanager
async def listening() -> AsyncIterator[Upstream]:
    arriving, arrived = anyio.create_memory_object_stream[Connection](100)
    async with arriving, arrived, await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        upstream = Upstream(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}", arrived)

        async def take(stream: SocketStream) -> None:
            async with stream:
                upstream.accepted += 1
                await arriving.send(Connection(stream))
                await anyio.sleep_forever()

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, take)
                yield upstream
                tasks.cancel_scope.cancel()
