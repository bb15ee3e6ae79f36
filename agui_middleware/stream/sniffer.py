"""Whether a stream of Server-Sent Events is AG-UI, where no route says so."""

import msgspec

from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.event_types import EventType
from agui_middleware.stream.sse import Comment, Decoder, Frame, Item, UnknownField, encode, encode_comment

_TYPES = frozenset(EventType)
_HEARTBEATS = frozenset({"heartbeat", "ping", "keepalive", "keep-alive"})
_decode = msgspec.json.Decoder().decode


class Sniffer:
    """Looks at a stream up to its first event. `verdict` is then true if the stream is AG-UI, and false if it is not.

    Comments and heartbeats before that event pass as they come, so that a slow agent's pings arrive. What is held, comments
    between the lines of one event included, takes at most `limit` bytes; past it, the verdict is false. Without `comments`,
    none of those that come before that event passes.
    """

    def __init__(self, decoder: Decoder, limit: int, comments: bool = True) -> None:
        self._decoder = decoder
        self._limit = limit
        self._comments = comments
        self._held: list[bytes] = []  # as it came
        self._size = 0
        self.items: list[Item] = []
        """The same, decoded: the rewriter takes these items once the verdict is true."""
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
        if self.verdict is False:
            return self.release()
        return self._passed() if self.verdict is None and self._decoder.idle else b""

    def finish(self) -> bytes:
        """Return the held bytes, once the stream has ended: they contain no event."""
        self.verdict = False
        return self._passed()

    def _passed(self) -> bytes:
        encoded = b"" if self._comments else self._encoded(self.items)
        held = self.release()
        return held if self._comments else encoded

    def _encoded(self, items: list[Item]) -> bytes:
        return b"".join(_encoded(item) for item in items if self._comments or type(item) is not Comment)

    def release(self) -> bytes:
        """Return the held bytes, and forget them."""
        held = b"".join(self._held)
        self._held, self._size, self.items = [], 0, []
        return held


class StrictSniffer(Sniffer):
    """The sniffer for hidden subagents: it looks at every frame until one may be AG-UI, and is never false before the end.

    A server may send anything before a run, and a first frame that is not AG-UI would otherwise be a way around `hidden`.
    """

    _as_it_came = True

    verdict: bool | None
    items: list[Item]

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes, and return what passes unread: the frames before the first that may be AG-UI."""
        self._held.append(chunk)
        self._size += len(chunk)
        return self._look(self._decoder.feed(chunk))

    def finish(self) -> bytes:
        """Look at the rest, once the stream has ended, and return what passes unread."""
        passed = self._look(self._decoder.finish())
        if self.verdict is None:
            self.verdict = False
            passed += self._passed()
        return passed

    def _look(self, items: list[Item]) -> bytes:
        first = next((index for index, item in enumerate(items) if _may_be_agui(item)), None)
        if first is not None:
            before = self.items + items[:first]
            self.verdict, self.items, self._held = True, items[first:], []
            return self._encoded(before)
        self.items += items
        if self._decoder.idle:
            return self._passed()
        if self._size > self._limit:  # no chunk has ended with a frame: what is held is a part of the last one
            self._as_it_came = False
            return self._passed()
        return b""

    def _passed(self) -> bytes:
        as_it_came = self._as_it_came and self._comments
        encoded = b"" if as_it_came else self._encoded(self.items)
        held = self.release()
        return held if as_it_came else encoded


def _verdict(item: Item) -> bool | None:
    """The verdict on one item; `None` for a comment, an unknown field, a heartbeat, or a frame without data."""
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


def _may_be_agui(item: Item) -> bool:
    """Whether an item may be an AG-UI event, a piece of one, or hide one: what is too large cannot be looked at."""
    if type(item) is Frame:
        return _may_be_event(item.data or b"")
    if type(item) is Comment:
        return _may_be_event(item.text)
    return type(item) is not UnknownField or _may_be_event(item.line)


def _may_be_event(data: bytes) -> bool:
    """Whether the data of a frame may be an AG-UI event: an object of an AG-UI type, or with an owner.

    Any other JSON is not one, such as a chunk of another protocol. What is not JSON may be a torn event where it begins as
    an object, or where the name of such a member may be in it.
    """
    try:
        members = _decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):  # the first is a `ValueError` since 0.21
        escaped = b"\\u" in data and b"{" in data
        return data.lstrip()[:1] == b"{" or b'"type"' in data or b"subagentRunId" in data or escaped
    if not isinstance(members, dict):
        return False
    type = members.get("type")
    return "subagentRunId" in members or (isinstance(type, str) and type in _TYPES)


def _encoded(item: Item) -> bytes:
    if type(item) is Frame:
        return encode(item.data, item.fields)
    return encode_comment(item.text) if type(item) is Comment else b""  # a field that every reader skips
