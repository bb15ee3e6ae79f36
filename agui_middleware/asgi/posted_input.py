"""The request's body on its way to the app: read whole, rewritten, and handed on with its right length."""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import Message, Receive, Scope

from agui_middleware.asgi import headers
from agui_middleware.protocol.json_object import JsonObject, MalformedEvent


def is_readable(scope: Scope) -> bool:
    """Whether a request may post a conversation that can be read here: a POST with JSON, uncompressed."""
    return scope["method"] == "POST" and headers.is_plain_json(scope.get("headers", ()))


async def as_posted(body: bytes) -> bytes:
    """Leave a body as it was posted."""
    return body


_HANDED_ON: Final[deque[Message]] = deque()
"""What is left of any body that the app has read: an empty deque takes 760 bytes, for as long as the stream is open."""


class PostedInput:
    """Hands the body of one request on to the app, rewritten.

    - `limit`: in bytes. A larger body passes as it comes.
    - `rewrite`: called with the whole body; returns the very same bytes to leave it. It never raises.
    - `keeps`: whether the body is kept as it came, for `input`.

    `read` is to be called before the app, which then gets `scope` and `receive`. With `Expect: 100-continue` the app decides
    whether the body is sent at all: it is read only when the app asks for it, so that its length cannot be told before.
    A body that does not change, and one that is cut off, is handed on in the messages in which it came.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        limit: int,
        rewrite: Callable[[bytes], Awaitable[bytes]],
        keeps: bool = False,
    ) -> None:
        self.scope: Scope = scope
        self._receive = receive
        self._limit = limit
        self._rewrite = rewrite
        self._keeps = keeps
        self._kept: bytes | None = None
        self._messages: deque[Message] = deque()
        self._size = 0
        self._ended = False  # nothing more is read ahead
        self._ready = False  # and what was read is ready for the app

    async def read(self) -> None:
        """Read the body, unless the app is to decide whether it is sent."""
        if headers.expects_continue(self.scope.get("headers", ())):
            self.scope = headers.with_length(self.scope, None)
        elif (length := await self._fill()) is not None:
            self.scope = headers.with_length(self.scope, length)

    @property
    def input(self) -> JsonObject | None:
        """The posted object; `None` where the body was not kept, not read whole, or is not a JSON object."""
        try:
            return None if self._kept is None else JsonObject.parse(self._kept)
        except MalformedEvent:
            return None

    async def receive(self) -> Message:
        """The app's `receive`."""
        if not self._ready:
            await self._fill()
        if not self._messages:
            return await self._receive()
        message = self._messages.popleft()
        if not self._messages:
            self._messages = _HANDED_ON
        return message

    async def _fill(self) -> int | None:
        """Read the whole body, and return its new length if it has changed. Cancelled, it goes on when called again."""
        while not self._ended:
            message = await self._receive()
            self._messages.append(message)
            self._size += len(message.get("body", b""))
            self._ended = not message.get("more_body", False) or self._size > self._limit
        length = await self._rewritten()
        self._ready = True
        return length

    async def _rewritten(self) -> int | None:
        if self._messages[-1]["type"] != "http.request" or self._size > self._limit:
            return None
        body = b"".join([message.get("body", b"") for message in self._messages])
        self._kept = body if self._keeps else None
        rewritten = await self._rewrite(body)
        self._rewrite = as_posted  # it leads to the decision for the request, and so back here
        if rewritten is body:
            return None
        self._messages = deque([{"type": "http.request", "body": rewritten, "more_body": False}])
        return len(rewritten)
