"""TOOL_CALL_ARGS that add nothing. Dart 0.1.0 and Java reject an empty `delta` of any event."""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("TOOL_CALL_ARGS", repeats=("TOOL_CALL_ARGS",))
def without_empty_arguments(_: Context) -> Step:
    """Drop them."""

    def show(event: Event) -> Event | None:
        return None if event.raw.find(b'""') >= 0 and event.get("delta") == "" else event

    return show
