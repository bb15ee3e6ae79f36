"""One request and its response without a server: what uvicorn would hand to an app, and a `send` that keeps nothing."""

import asyncio

from starlette.types import ASGIApp, Message, Scope


def scope() -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "raw_path": b"/",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


class Client:
    """Posts an empty body, stays until the end, and throws away what it is sent."""

    def __init__(self) -> None:
        self._posted = False

    async def receive(self) -> Message:
        if self._posted:
            await asyncio.Event().wait()
        self._posted = True
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(self, message: Message) -> None:
        pass


class Recorder(Client):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def exchange(app: ASGIApp, client: Client | None = None) -> None:
    client = Client() if client is None else client
    await app(scope(), client.receive, client.send)
