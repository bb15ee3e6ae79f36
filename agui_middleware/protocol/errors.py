"""The RUN_ERROR events that end a run on our account. Their messages are fixed: no text of an exception leaves."""

from agui_middleware.protocol.event import Event, MalformedEvent

_MESSAGES = {
    "AGUI_FILTER_ERROR": "The event stream could not be prepared for this client.",
    "AGUI_MALFORMED_EVENT": "The agent sent an event that could not be read.",
    "AGUI_EVENT_TOO_LARGE": "The agent sent an event that is too large.",
}


MAX_EVENT_BYTES = 10 * 1024 * 1024
"""The default of `Settings.max_event_bytes`: what 1.0.0 allows an unfinished frame."""


class EventTooLarge(Exception):
    """What one event, or what a filter must hold back, grows past `Settings.max_event_bytes`."""


WIRE_FAULTS = (EventTooLarge, MalformedEvent)
"""Faults of what the app wrote, not of a filter: they never raise into the server."""


def run_error(error: Exception) -> Event:
    """The RUN_ERROR with which `error`, raised by a filter or by reading the stream, ends a run."""
    if isinstance(error, EventTooLarge):
        code = "AGUI_EVENT_TOO_LARGE"
    elif isinstance(error, MalformedEvent):
        code = "AGUI_MALFORMED_EVENT"
    else:
        code = "AGUI_FILTER_ERROR"
    return Event(type="RUN_ERROR", message=_MESSAGES[code], code=code)
