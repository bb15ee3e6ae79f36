"""Patch operations that RFC 6902 does not have.

1.0.0 leaves the operation out and applies the rest. Before it, a client ignores the whole patch.
"""

from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_elements

_OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")


@per_event("STATE_DELTA", "ACTIVITY_DELTA")
def without_unknown_patch_operations(context: Context) -> Step:
    """Drop the operations of a patch that are of another kind."""

    def keep(operation: JsonObject) -> JsonObject | None:
        if operation.get("op") in _OPERATIONS:
            return operation
        context.lost("patch operations", "operations on the state or an activity that no known release applies")
        return None

    return lambda event: edit_elements(event, "delta" if event.head.type == "STATE_DELTA" else "patch", keep)
