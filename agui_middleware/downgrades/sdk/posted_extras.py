"""Members that an SDK posts for itself: empty ones, and copies of others."""

from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.posted import Posted


def without_copied_data(posted: Posted) -> Posted:
    """Remove TanStack's `data` where it is the copy of `forwardedProps` that its older servers read."""
    input = posted.input
    is_copy = "data" in input and input["data"] == input.get("forwardedProps")
    return posted.with_input(input.without("data")) if is_copy else posted


def without_empty_resume(posted: Posted) -> Posted:
    """Remove the empty `resume` that Java always posts: a server may take it for the answer to an interrupt."""
    is_empty = posted.input.get("resume") == []
    return posted.with_input(posted.input.without("resume")) if is_empty else posted


def without_tool_names(posted: Posted) -> Posted:
    """Remove the `name` that Kotlin gives a tool's result: it is the role of the event."""

    def edit(message: JsonObject) -> JsonObject:
        is_role = message.get("role") == "tool" and message.get("name") == "tool"
        return message.without("name") if is_role else message

    return posted.edit(edit, containing=b'"name"')
