"""Tool results in content parts.

Before 1.0.0 the content of a tool result is a string, in TOOL_CALL_RESULT as in a tool message, and a client rejects the
run that brings a list. Its text parts are joined; media have no place in a string, and no placeholder is put there.
"""

from agui_middleware.downgrades.content_parts import Holder, joined
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_messages


@per_event("TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT", INPUT_ECHO)
def join_result_parts(context: Context) -> Step:
    """Join the text parts of tool results, the empty string where there are none."""

    def join(holder: Holder) -> Holder:
        holder, lossy = joined(holder)
        if lossy:
            context.lost("result parts", "what a tool's result holds beside its text", "1.0.0")
        return holder

    def join_message(message: JsonObject) -> JsonObject:
        return join(message) if message.get("role") == "tool" else message

    return lambda event: join(event) if event.head.type == "TOOL_CALL_RESULT" else edit_messages(event, join_message)
