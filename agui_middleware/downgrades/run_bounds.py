"""Events that begin and end runs, where runs are joined."""

from typing import Final

from agui_middleware.protocol.event import Event

_REQUIRED: Final = {
    "RUN_STARTED": ("threadId", "runId"),
    "RUN_FINISHED": ("threadId", "runId"),
    "RUN_ERROR": ("message",),
}


def may_be_dropped(event: Event) -> bool:
    """Whether a RUN_* event is well-formed. A malformed one is never dropped: the client is to reject it."""
    if not all(isinstance(event.get(name), str) for name in _REQUIRED[event.head.type]):
        return False
    timestamp = event.get("timestamp", 0)
    timed = isinstance(timestamp, int | float) and not isinstance(timestamp, bool)
    return timed and ("input" not in event or event.get_object("input") is not None)
