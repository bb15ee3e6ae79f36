"""STATE_SNAPSHOT events whose state is null: C++ ends the run there, and a serializer of Java's may."""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("STATE_SNAPSHOT")
def without_null_states(_: Context) -> Step:
    """Write the empty state, as `empty-state` does for releases of @ag-ui/client."""

    def show(event: Event) -> Event:
        return event.replace(snapshot={}) if "snapshot" in event and event["snapshot"] is None else event

    return show
