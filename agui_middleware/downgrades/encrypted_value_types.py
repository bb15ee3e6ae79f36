"""`encryptedValueType`, which AG-UI 1.1 allows beside every encrypted value.

1.0.0 strips it with a warning, and sends the value back without it.
"""

from typing import Final

from agui_middleware.downgrades.content_parts import Holder
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_elements, edit_messages

_TYPE: Final = "encryptedValueType"
_WORD: Final = _TYPE.encode()


@per_event("REASONING_ENCRYPTED_VALUE", "MESSAGES_SNAPSHOT", INPUT_ECHO)
def without_encrypted_value_types(context: Context) -> Step:
    """Take `encryptedValueType` off the event, and off messages and their tool calls."""

    def untype(holder: Holder) -> Holder:
        if _TYPE in holder:
            context.lost("encrypted value types", "what kind of value a model gave the client to keep", "1.1.0")
        return holder.without(_TYPE)

    def untype_message(message: JsonObject) -> JsonObject:
        # An activity has no encrypted value: what has the name of its type there is any other member.
        return message if message.get("role") == "activity" else edit_elements(untype(message), "toolCalls", untype)

    def untype_event(event: Event) -> Event:
        if not event.may_contain(_WORD):
            return event
        return untype(event) if event.head.type == "REASONING_ENCRYPTED_VALUE" else edit_messages(event, untype_message)

    return untype_event
