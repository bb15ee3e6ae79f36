"""Media parts whose `source` is of type `file`: a handle of the model's provider.

Clients before 1.0.0 reject the run. A `binary` part could carry the handle as its `id`, but the client would post that
part with its next run, and current agents reject it. So the part is dropped.
"""

from agui_middleware.downgrades.content_parts import edit_parts, is_media
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import JsonObject


@per_event("MESSAGES_SNAPSHOT", INPUT_ECHO)
def without_file_sources(context: Context) -> Step:
    """Drop the parts of messages whose source is a file."""

    def keep(part: JsonObject) -> JsonObject | None:
        source = part.get_object("source") if is_media(part) else None
        if source is None or source.get("type") != "file":
            return part
        context.lost("file sources", "media that a message names by a provider's handle", "1.0.0")
        return None

    return lambda event: edit_parts(event, keep) if event.may_contain(b'"file"') else event
