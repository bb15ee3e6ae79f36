"""What the middleware reads of a request, and how it asks the app for a response that it can read."""

from typing import Any

from starlette.types import Message, Receive, Scope

from agui_middleware.asgi import headers


class Body:
    """Keeps what the app reads of the request's body, up to `limit` bytes. The app reads all of it, as it came."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    async def receive(self) -> Message:
        message = await self._receive()
        part = message.get("body", b"") if message["type"] == "http.request" else b""
        self._size += len(part)
        if self._size > self._limit:
            self._parts = []
        elif part:
            self._parts.append(part)
        return message

    def so_far(self) -> bytes:
        """What the app has read so far; empty where that is more than `limit`."""
        return b"".join(self._parts)

    def drop(self) -> None:
        """Forget it, and keep nothing of what comes later."""
        self._parts, self._limit = [], 0


def without_encodings(scope: Scope) -> Scope:
    """A copy of an HTTP scope that asks the app for a body that can be read here: whole, uncompressed, in messages."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    kept = {name: value for name, value in extensions.items() if name not in headers.UNREAD_EXTENSIONS}
    return {**scope, "headers": headers.for_readable_body(scope.get("headers", ())), "extensions": kept}
