"""A recording as events, and the framing in which a release of @ag-ui/client would get it.

A recording is a stream of Server-Sent Events as it was sent, or a file of one JSON object a line (NDJSON), which has no
framing to be looked at.
"""

from typing import Final, NamedTuple

from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.sse import Decoder, Frame, encode

BOM: Final = b"\xef\xbb\xbf"
_NO_OBJECT: Final = "rejects a frame that is not one JSON object in `data:` lines with LF LF behind it"
_NO_SPACE: Final = "reads nothing of a `data:` line without a space behind the colon"
_NO_EVENT: Final = "rejects a body in which it finds no event"
_WITHOUT_SPACE: Final = ClientVersion(0, 0, 43)
_WITHOUT_EVENTS: Final = ClientVersion(0, 0, 34)


class Finding(NamedTuple):
    """One event that a release of @ag-ui/client cannot read as it was meant."""

    place: int
    """Where it is in the stream, from 0."""
    event: Event | None
    """`None`: the stream holds no event there."""
    shape: str
    """`unknown-types`, `framing`, or the name of a row of `DOWNGRADES`."""
    why: str
    """What such a release does, to complete the sentence "@ag-ui/client 0.0.58 ..."."""
    since: str | None
    """The first release that reads it; `None`: none does."""


class Unreadable(ValueError):
    """What no release can read and the middleware does not mend; says where it is."""


def is_ndjson(recording: bytes) -> bool:
    """Whether a recording is one JSON object a line."""
    return recording.removeprefix(BOM).lstrip()[:1] == b"{"


def events_in(recording: bytes) -> list[Event]:
    """The events of a recording. Raises `Unreadable` for what tries to be one and is none.

    Frames that are no events at all, such as `[DONE]`, are passed over, as the middleware makes comments of them.
    """
    return _of_lines(recording.removeprefix(BOM)) if is_ndjson(recording) else _of_frames(recording)


def as_stream(recording: bytes) -> bytes:
    """The stream of Server-Sent Events that `recording` is, or that its lines are the events of.

    Raises `Unreadable`, in words for who has pasted it, where no event can be read. A stream that holds one keeps what else
    it holds: what a client makes of that is worth seeing.
    """
    text = recording.removeprefix(BOM).strip()
    if not text:
        raise Unreadable("The recording is empty.")
    if text.startswith(b"["):
        raise Unreadable("This is a JSON array. It takes one event a line (NDJSON), or the stream as sent (SSE).")
    if is_ndjson(recording):
        try:
            return b"".join(encode(event.raw) for event in events_in(recording))
        except Unreadable as error:
            fault = str(error)
            raise Unreadable(f"{fault[0].upper()}{fault[1:]}. NDJSON has one whole event a line.") from error
    decoder = Decoder(len(recording))
    items = [*decoder.feed(recording), *decoder.finish()]
    data = [item.data for item in items if isinstance(item, Frame) and item.data is not None]
    if not any(_is_event(one.replace(b"\n", b" ")) for one in data):
        found = f"its {len(data)} frames hold no event" if data else 'no line begins with "data:"'
        raise Unreadable(f"This is no stream of AG-UI events: {found}. It takes SSE and NDJSON.")
    return recording


def _of_lines(recording: bytes) -> list[Event]:
    events = []
    for number, line in enumerate(recording.split(b"\n"), 1):
        if line.strip():
            events.append(_parsed(line.strip(), f"line {number}"))
    return events


def _of_frames(recording: bytes) -> list[Event]:
    decoder = Decoder(max(len(recording), 1))
    events: list[Event] = []
    for item in [*decoder.feed(recording), *decoder.finish()]:
        if isinstance(item, Frame) and item.data is not None and item.data.lstrip()[:1] == b"{":
            events.append(_parsed(item.data.replace(b"\n", b" "), f"event {len(events) + 1}"))
    return events


def _parsed(data: bytes, where: str) -> Event:
    try:
        return Event.parse(data)
    except MalformedEvent as error:
        raise Unreadable(f"{where} is no AG-UI event: {error}") from error


class Framing(NamedTuple):
    """The first frame that a release refuses, if any, and the first of which it reads nothing."""

    refused: list[Finding]
    misread: list[Finding]


def framing(recording: bytes, client: ClientVersion | None, events: list[Event]) -> Framing:
    """What `client` makes of the framing of a stream with these events.

    Every release splits the body at LF LF, joins the lines that begin with `data: `, and parses them; from 0.0.43 on the
    space may be missing. One before 0.0.34 rejects a body in which it finds no event.
    """
    prefix = b"data: " if client is not None and client < _WITHOUT_SPACE else b"data:"
    place, found = 0, Framing([], [])
    for frame in recording.removeprefix(BOM).split(b"\n\n"):
        lines = [line for line in frame.split(b"\n") if line.startswith(b"data:")]
        read = [line[len(prefix) :] for line in lines if line.startswith(prefix)]
        if read and not _is_event(b" ".join(read)):
            found.refused.append(Finding(place, _at(events, place), "framing", _NO_OBJECT, None))
            return found
        if len(read) < len(lines) and not found.misread:
            found.misread.append(Finding(place, _at(events, place), "framing", _NO_SPACE, str(_WITHOUT_SPACE)))
        place += bool(lines)
    unread = place == 0 or (found.misread and found.misread[0].place == 0)
    if client is not None and client < _WITHOUT_EVENTS and unread:
        found.refused.append(Finding(0, _at(events, 0), "framing", _NO_EVENT, str(_WITHOUT_EVENTS)))
    return found


def _is_event(data: bytes) -> bool:
    try:
        Event.parse(data)
    except MalformedEvent:
        return False
    return True


def _at(events: list[Event], place: int) -> Event | None:
    return events[place] if place < len(events) else None
