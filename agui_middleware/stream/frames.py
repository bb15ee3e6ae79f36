"""From events to the frames that carry them, and from the data of a frame to the one line that an event is."""

from typing import Final

from agui_middleware.protocol.event import Event, MalformedEvent
from agui_middleware.protocol.event_types import EventType
from agui_middleware.stream.sse import Fields, encode

_TYPES: Final = frozenset(EventType)
_TYPE_NAMES: Final = frozenset(type.encode() for type in EventType)


def on_one_line(data: bytes) -> bytes:
    """An event on one line. In JSON a line end is white space; inside a string it is a fault, which clients reject."""
    if 10 not in data:
        return data
    try:
        Event.parse(data)
    except MalformedEvent:
        return data
    return data.replace(b"\n", b" ")


def frames_of(out: list[bytes | Event]) -> list[bytes]:
    """The frames of one flush: of frames that are made already, and of events that have SSE fields.

    If one frame became several events, the last of them takes its `id` and `retry`: only then has the client received all
    of it.
    """
    taken: set[int] = set()
    return [each if isinstance(each, bytes) else _with_fields(each, taken) for each in reversed(out)][::-1]


def _with_fields(event: Event, taken: set[int]) -> bytes:
    fields: Fields = event.fields
    first = id(fields) in taken
    taken.add(id(fields))
    # A name that is the event's type follows it; any other is the server's own.
    name = event.type.encode() if fields.event in _TYPE_NAMES and event.type in _TYPES else fields.event
    return encode(event.raw, Fields(None if first else fields.id, name, None if first else fields.retry))
