"""The events of a recording, and how a release of @ag-ui/client reads its framing.

A recording is a stream of Server-Sent Events as it was sent, or a file with one JSON object a line (NDJSON), which has no
framing to check.
"""

from typing import Final, NamedTuple

from agui_middleware.checking.shallow import shallow
from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.sse import Decoder, Frame, encode

BOM: Final = b"\xef\xbb\xbf"
_NO_OBJECT: Final = "rejects a frame that is not one JSON object in `data:` lines with LF LF behind it"
_NO_SPACE: Final = "reads nothing of a `data:` line without a space behind the colon"
_NO_EVENT: Final = "rejects a body in which it finds no event"
_TOO_LARGE: Final = "rejects a frame of more than 10 MiB that arrives in several pieces"
_WITHOUT_SPACE: Final = ClientVersion(0, 0, 43)
_WITHOUT_EVENTS: Final = ClientVersion(0, 0, 34)
_FIRST_WITH_BOUND: Final = ClientVersion(1, 0, 0)
_BOUND: Final = 10 * 2**20


class Finding(NamedTuple):
    """One event that a release of @ag-ui/client refuses or misreads."""

    place: int
    """Its place in the stream, from 0."""
    event: Event | None
    """The event; `None` if there is no event at this place."""
    feature: str
    """`unknown-types`, `framing`, `malformed`, or the name of a row of `DOWNGRADES`."""
    reason: str
    """What the release does; completes the sentence "@ag-ui/client 0.0.58 ..."."""
    fixed_in: str | None
    """The first release that reads it; `None` if no release does."""


class Item(NamedTuple):
    """One item of a recording: the data of a frame, or a line of NDJSON."""

    place: int
    data: bytes
    event: Event | None
    """The event; `None` if the data is not an event."""
    too_deep: bool = False
    """Whether clients read the event and the middleware does not: see `json_scan.MOST_BRACKETS`."""

    @property
    def fails(self) -> bool:
        """Whether the item is meant as an event, and nobody can read it. Other items that are not events, such as `[DONE]`,
        are left out.
        """
        return self.event is None and self.data.lstrip()[:1] == b"{"


class Unreadable(ValueError):
    """Raised for a recording in which no event can be read; the message says where reading fails."""


def is_ndjson(recording: bytes) -> bool:
    """Whether a recording is one JSON object a line."""
    return recording.removeprefix(BOM).lstrip()[:1] == b"{"


def items_in(recording: bytes) -> list[Item]:
    """The items of a recording, as the middleware reads it: in every framing that the HTML standard allows."""
    if is_ndjson(recording):
        data = [line.strip() for line in recording.removeprefix(BOM).split(b"\n") if line.strip()]
    else:
        decoder = Decoder(max(len(recording), 1))
        frames = [*decoder.feed(recording), *decoder.finish()]
        data = [frame.data for frame in frames if isinstance(frame, Frame) and frame.data is not None]
    return [_item(place, one) for place, one in enumerate(data)]


def _item(place: int, data: bytes) -> Item:
    event = _as_clients_do(data)
    return Item(place, data, event, too_deep=event is not None and event.raw is not data)


def as_stream(recording: bytes) -> bytes:
    """The recording as a stream of Server-Sent Events. Lines of NDJSON become one event each.

    Raises `Unreadable`, with a message for the person who pasted the recording, if no event can be read. Otherwise all other
    items stay in the stream, since the reaction of clients to them is of interest.
    """
    text = recording.removeprefix(BOM).strip()
    if not text:
        raise Unreadable("The recording is empty.")
    if text.startswith(b"["):
        raise Unreadable("This is a JSON array. It takes one event a line (NDJSON), or the stream as sent (SSE).")
    if is_ndjson(recording):
        return b"".join(encode(_parsed(line.strip(), n).raw) for n, line in _lines(recording) if line.strip())
    items = items_in(recording)
    if not any(item.event for item in items):
        found = f"its {len(items)} frames hold no event" if items else 'no line begins with "data:"'
        raise Unreadable(f"This is no stream of AG-UI events: {found}. It takes SSE and NDJSON.")
    return recording


def _lines(recording: bytes) -> list[tuple[int, bytes]]:
    return list(enumerate(recording.removeprefix(BOM).split(b"\n"), 1))


def _parsed(line: bytes, number: int) -> Event:
    try:
        return Event.parse(line)
    except MalformedEvent as error:
        raise Unreadable(f"Line {number} is no AG-UI event: {error}. NDJSON has one whole event a line.") from error


class Framing(NamedTuple):
    """How a release reads the frames of a stream."""

    refused: list[Finding]
    """The first frame that it refuses, if any."""
    misread: list[Finding]
    """The first event that it does not see, if any."""
    unread: frozenset[int]
    """The places of all events that it does not see."""


def framing(recording: bytes, client: ClientVersion | None, items: list[Item]) -> Framing:
    """How `client` (`None`: the newest release) reads the framing of a stream with these items.

    Every release splits the body at LF LF, joins the lines that begin with `data: `, and parses them; from 0.0.43 on the
    space may be missing. One before 0.0.34 rejects a body in which it finds no event, and 1.0.0 a frame beyond its bound.
    """
    prefix = b"data: " if client is not None and client < _WITHOUT_SPACE else b"data:"
    bounded = client is None or client >= _FIRST_WITH_BOUND
    place, refused, unread = 0, [], []
    for frame in recording.removeprefix(BOM).split(b"\n\n"):
        lines = [line for line in frame.split(b"\n") if line.startswith(b"data:")]
        read = [line[len(prefix) :] for line in lines if line.startswith(prefix)]
        if bounded and len(frame.decode("utf-8", "replace")) > _BOUND:
            refused.append(_finding(place, items, _TOO_LARGE))
        elif read and not _as_clients_do(b"\n".join(read)):
            refused.append(_finding(place, items, _NO_OBJECT))
        elif lines and not read and _as_clients_do(b"\n".join(line[5:] for line in lines)):
            unread.append(place)
        if refused:
            break
        place += bool(lines)
    misread = [_finding(at, items, _NO_SPACE, _WITHOUT_SPACE) for at in unread[:1]]
    nothing = len(unread) == sum(item.event is not None for item in items)
    if nothing and not refused and client is not None and client < _WITHOUT_EVENTS:
        refused.append(_finding(0, items, _NO_EVENT, _WITHOUT_EVENTS))
    return Framing(refused, misread, frozenset(unread))


def _finding(place: int, items: list[Item], reason: str, fixed_in: ClientVersion | None = None) -> Finding:
    event = items[place].event if place < len(items) else None
    return Finding(place, event, "framing", reason, None if fixed_in is None else str(fixed_in))


def _event(data: bytes) -> Event | None:
    try:
        return Event.parse(data)
    except MalformedEvent:
        return None


def _as_clients_do(data: bytes) -> Event | None:
    return _event(data) or _event(shallow(data))
