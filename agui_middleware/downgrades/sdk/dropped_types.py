"""Event types that an SDK does not know and that end its run.

@ag-ui/client has read these types since its first release, so no release of it stands for such an SDK. The releases of
.NET's Microsoft.Agents.AI.AGUI know 6, 10, 12 or 19 types, and throw at all others.
"""

from collections.abc import Callable
from typing import Final

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import per_event
from agui_middleware.protocol.event import Event

TOOL_CALLS: Final = ("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_CHUNK", "TOOL_CALL_RESULT")
STATE: Final = ("STATE_SNAPSHOT", "STATE_DELTA")
STEPS: Final = ("STEP_STARTED", "STEP_FINISHED")
PASSTHROUGH: Final = ("RAW", "CUSTOM")
SNAPSHOTS: Final = ("MESSAGES_SNAPSHOT",)


def without_types(*types: str, feature: str, reason: str) -> Filter:
    """A filter that drops all events of these types, and reports `feature` as lost for `reason`."""

    @per_event(*types, repeats=types)
    def drop(context: Context) -> Callable[[Event], None]:
        return lambda _: context.lost(feature, reason)

    return drop
