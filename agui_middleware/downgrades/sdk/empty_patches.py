"""ACTIVITY_DELTA events whose `patch` has no operation: C++ ends the run there."""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("ACTIVITY_DELTA")
def without_empty_patches(_: Context) -> Step:
    """Drop them."""

    def show(event: Event) -> Event | None:
        return None if event.get_list("patch") == [] else event

    return show
