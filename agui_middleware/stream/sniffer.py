"""Whether a stream of Server-Sent Events is AG-UI, where no route says so."""

from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.event_types import EventType
from agui_middleware.stream.sse import Comment, Decoder, Frame, Item, UnknownField

_TYPES = frozenset(EventType)
_HEARTBEATS = frozenset({"heartbeat", "ping", "keepalive", "keep-alive"})


class Sniffer:
    """Looks at a stream until its first event: `verdict` is then true where it is AG-UI, false where it is not.

    Comments and heartbeats before that event pass as they come, so that a slow agent's pings arrive. What is held, comments
    between the lines of one event included, takes at most `limit` bytes; past it, the verdict is false.
    """

    def __init__(self, decoder: Decoder, limit: int) -> None:
        self._decoder = decoder
        self._limit = limit
        self._held: list[bytes] = []  # as it came
        self._size = 0
        self.items: list[Item] = []
        """The same, decoded: the rewriter's to take, once the verdict is true."""
        self.verdict: bool | None = None

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes, and return what passes unread. Nothing passes once the verdict is true."""
        self._held.append(chunk)
        self._size += len(chunk)
        items = self._decoder.feed(chunk)
        self.items += items
        self.verdict = next((verdict for item in items if (verdict := _verdict(item)) is not None), None)
        if self.verdict is None and self._size > self._limit:
            self.verdict = False
        if self.verdict is False or (self.verdict is None and self._decoder.idle):
            return self.release()
        return b""

    def release(self) -> bytes:
        """Return what is held, and forget it."""
        held = b"".join(self._held)
        self._held, self._size, self.items = [], 0, []
        return held


def _verdict(item: Item) -> bool | None:
    """What an item tells; `None` for a comment, an unknown field, a heartbeat, and what has no data."""
    if type(item) is Comment or type(item) is UnknownField:
        return None
    if type(item) is not Frame:
        return False  # too large
    data = (item.data or b"").replace(b"\n", b" ")
    if not data.lstrip(b" \t").startswith(b"{"):
        return None  # `[START]`, a date, an empty frame: every server has its own
    try:
        type_ = Event.parse(data).type
    except MalformedEvent:
        return False
    return True if type_ in _TYPES else None if type_ in _HEARTBEATS else False
