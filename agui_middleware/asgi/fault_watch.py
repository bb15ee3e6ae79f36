"""Notices that a server writes what no client reads, and that no filter of the route repairs it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agui_middleware.asgi.headers import content_coding, is_event_stream, normalised
from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Loss
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.stream.chain import Chain
from agui_middleware.stream.sse import Decoder, Frame

if TYPE_CHECKING:
    from agui_middleware.config.route_plans import RoutePlans

ALL_EXAMINED: Final = 10
ONE_IN: Final = 64

Report = Callable[[str, str], None]
"""Called with the path of a route and the feature that a repair has reported."""

FIRST_BODIES: Final = 16
"""So many bodies of a response are examined whatever they are; later tokens, which have the same members, are not."""
_TOKENS: Final = tuple(
    b'data: {"type":%s"%s"' % (space, type)
    for type in (b"TEXT_MESSAGE_CONTENT", b"TOOL_CALL_ARGS", b"REASONING_MESSAGE_CONTENT")
    for space in (b"", b" ")
)
_NOTHING: Final[tuple[bytes, ...]] = ()


class FaultWatch:
    """Examines the first responses of each route, then one of 64: each event of such a response costs more.

    What is examined is a copy: the stream itself goes on as if nobody had looked. The copy goes through the filters that
    would repair it, which report what they find, and what they make of it is dropped.
    """

    def __init__(self, report: Report, max_event_bytes: int) -> None:
        self._report = report
        self._max_event_bytes = max_event_bytes
        self._responses: dict[RoutePlans, int] = {}
        self._repairs: dict[RoutePlans, Composition] = {}

    def watch(self, app: ASGIApp, of_route: "RoutePlans") -> ASGIApp:
        """`app`, whose next response is examined if it is its turn. `of_route` has the filters of the route."""
        number = self._responses[of_route] = self._responses.get(of_route, 0) + 1
        if number > ALL_EXAMINED and number % ONE_IN:
            return app
        if of_route not in self._repairs:
            # Imported with the first response: no route may be AG-UI's, and there are many repairs.
            from agui_middleware.filters.producer_faults import missing_repairs

            self._repairs[of_route] = Composition(missing_repairs(of_route.filters))
        repairs, path = self._repairs[of_route], of_route.route.path
        if not repairs.filters:
            return app

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            examination = _Examination(repairs, lambda loss: self._report(path, loss.feature), self._max_event_bytes)
            try:
                await app(scope, receive, examination.beside(send))
            finally:
                examination.close()

        return watched


class _Examination:
    """The copy of one response. It takes no more than `max_event_bytes` in all, so that its memory is bounded."""

    def __init__(self, repairs: Composition, on_loss: Callable[[Loss], None], max_event_bytes: int) -> None:
        self._decoder = Decoder(max_event_bytes)
        context = Context(on_loss=on_loss, max_event_bytes=max_event_bytes)
        self._chain = Chain(repairs, context, lambda event: None)
        self._left = max_event_bytes
        self._reads = False
        self._bodies = 0
        self._skipped = _NOTHING  # what a body that is not examined starts with

    def beside(self, send: Send) -> Send:
        """`send`, which is called as before."""

        def examining(message: Message) -> Awaitable[None]:
            body = message.get("body")
            if body is None:
                self._start(message)
            elif self._reads and not (
                type(body) is bytes and body.startswith(self._skipped) and body.find(b"\n") == len(body) - 2
            ):
                self._examine(body)
            return send(message)

        return examining

    def _start(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            fields = normalised(message.get("headers"))
            self._reads = is_event_stream(fields) and content_coding(fields) is None

    def _examine(self, body: object) -> None:
        if not isinstance(body, bytes):  # servers take more, which is not worth the trouble
            self._reads = False
            return
        self._bodies += 1
        self._skipped = _TOKENS if self._bodies >= FIRST_BODIES else _NOTHING
        self._left -= len(body)
        self._reads = self._left >= 0
        for item in self._decoder.feed(body) if self._reads else ():
            if type(item) is Frame and item.data is not None:
                with suppress(MalformedEvent):  # reported by the stream itself
                    self._chain.push(Event.parse(item.data))

    def close(self) -> None:
        """Unwind the filters."""
        self._chain.close()
