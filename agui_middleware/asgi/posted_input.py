"""The request's body on its way to the app: read whole, upgraded, and handed on with its right length."""

from collections import deque
from collections.abc import Callable

from starlette.types import Message, Receive, Scope

from agui_middleware.asgi import headers
from agui_middleware.config.readers import Reader
from agui_middleware.history.upgrade import upgrade, upgrades_for
from agui_middleware.protocol.releases import ClientVersion


def is_upgraded(scope: Scope, client: ClientVersion | Reader | None) -> bool:
    """Whether the body of a request may change: a POST with JSON, uncompressed, of a client that needs an upgrade."""
    return bool(upgrades_for(client)) and scope["method"] == "POST" and headers.is_plain_json(scope.get("headers", ()))


class PostedInput:
    """Hands the body of one request on to the app, upgraded for an agent of today.

    - `limit`: in bytes. A larger body passes as it comes.
    - `client`: called once the body was read; returns the release or the SDK that posted it.

    `read` is to be called before the app, which then gets `scope` and `receive`. With `Expect: 100-continue` the app decides
    whether the body is sent at all: it is read only when the app asks for it, so that its length cannot be told before.
    A body that does not change, and one that is cut off, is handed on in the messages in which it came.
    """

    def __init__(
        self, scope: Scope, receive: Receive, limit: int, client: Callable[[], ClientVersion | Reader | None]
    ) -> None:
        self.scope: Scope = scope
        self._receive = receive
        self._limit = limit
        self._client = client
        self._messages: deque[Message] = deque()
        self._size = 0
        self._ended = False  # nothing more is read ahead

    async def read(self) -> None:
        """Read the body, unless the app is to decide whether it is sent."""
        if headers.expects_continue(self.scope.get("headers", ())):
            self.scope = headers.with_length(self.scope, None)
        elif (length := await self._fill()) is not None:
            self.scope = headers.with_length(self.scope, length)

    async def receive(self) -> Message:
        """The app's `receive`."""
        if not self._ended:
            await self._fill()
        return self._messages.popleft() if self._messages else await self._receive()

    async def _fill(self) -> int | None:
        """Read the whole body, and return its new length if it has changed. Cancelled, it goes on when called again."""
        while not self._ended:
            message = await self._receive()
            self._messages.append(message)
            self._size += len(message.get("body", b""))
            self._ended = not message.get("more_body", False) or self._size > self._limit
        if message["type"] != "http.request" or self._size > self._limit:
            return None
        body = b"".join(message.get("body", b"") for message in self._messages)
        upgraded = upgrade(body, self._client())
        if upgraded is body:
            return None
        self._messages = deque([{"type": "http.request", "body": upgraded, "more_body": False}])
        return len(upgraded)
