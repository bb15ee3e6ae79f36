"""The RUN_ERROR events with which the middleware ends a run. Their messages are fixed: no exception's text leaves."""

from agui_middleware.protocol.event import Event, MalformedEvent

_MESSAGES = {
    "AGUI_FILTER_ERROR": "The event stream could not be prepared for this client.",
    "AGUI_MALFORMED_EVENT": "The agent sent an event that could not be read.",
    "AGUI_EVENT_TOO_LARGE": "The agent sent an event that is too large.",
}


MAX_EVENT_BYTES = 10 * 1024 * 1024
"""The default of `Settings.max_event_bytes`: what 1.0.0 allows an unfinished frame."""


class EventTooLarge(Exception):
    """One event, or what filters hold back, exceeds `Settings.max_event_bytes`."""


WIRE_FAULTS = (EventTooLarge, MalformedEvent)
"""Faults in what the app wrote, not in a filter: they are never raised into the server."""


def run_error(error: Exception) -> Event:
    """The RUN_ERROR with which `error`, raised by a filter or by reading the stream, ends a run."""
    if isinstance(error, EventTooLarge):
        code = "AGUI_EVENT_TOO_LARGE"
    elif isinstance(error, MalformedEvent):
        code = "AGUI_MALFORMED_EVENT"
    else:
        code = "AGUI_FILTER_ERROR"
    return Event(type="RUN_ERROR", message=_MESSAGES[code], code=code)
