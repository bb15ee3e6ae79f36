"""Members that TanStack's client read under other names before its 0.7.11.

`toolName` where AG-UI has `toolCallName`, and the message of a failed run as `error.message`, without which it crashes.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("TOOL_CALL_START", "RUN_ERROR")
def with_member_aliases(_: Context) -> Step:
    """Write them beside AG-UI's own."""

    def show(event: Event) -> Event:
        if event.head.type == "RUN_ERROR":
            return event if "error" in event else event.replace(error={"message": event.get("message")})
        return event if "toolName" in event else event.replace(toolName=event.get("toolCallName"))

    return show
