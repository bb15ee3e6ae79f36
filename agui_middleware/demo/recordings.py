"""A recorded stream, as somebody pastes or drops it."""

from agui_middleware import sse
from agui_middleware.checking.recorded import BOM, Unreadable, events_in, is_ndjson
from agui_middleware.event import Event, MalformedEvent

MAX_BYTES = 5 * 1024 * 1024
"""What the page takes: some ten thousand events. `agui-middleware rewrite` reads streams of any size."""


class UnreadableRecording(ValueError):
    """What was given holds no stream of AG-UI; the message says what was found instead, and is shown to the person."""


def as_stream(recording: bytes) -> bytes:
    """The stream of Server-Sent Events that `recording` is, or that its lines are the events of.

    Raises `UnreadableRecording` where no event can be read. A stream that holds one keeps what else it holds: what a
    client makes of that is worth seeing.
    """
    text = recording.removeprefix(BOM).strip()
    if not text:
        raise UnreadableRecording("The recording is empty.")
    if text.startswith(b"["):
        raise UnreadableRecording(
            "This is a JSON array. It takes one event a line (NDJSON), or the stream as sent (SSE)."
        )
    if is_ndjson(recording):
        try:
            return b"".join(sse.encode(event.raw) for event in events_in(recording))
        except Unreadable as error:
            fault = str(error)
            raise UnreadableRecording(f"{fault[0].upper()}{fault[1:]}. NDJSON has one whole event a line.") from error
    decoder = sse.Decoder(MAX_BYTES)
    items = [*decoder.feed(recording), *decoder.finish()]
    data = [item.data for item in items if isinstance(item, sse.Frame) and item.data is not None]
    if all(_fault(one) for one in data):
        found = f"its {len(data)} frames hold no event" if data else 'no line begins with "data:"'
        raise UnreadableRecording(f"This is no stream of AG-UI events: {found}. It takes SSE and NDJSON.")
    return recording


def _fault(data: bytes) -> str | None:
    try:
        Event.parse(data.replace(b"\n", b" "))
    except MalformedEvent as error:
        return str(error)
    return None
