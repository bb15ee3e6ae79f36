"""Encrypted values, which a model gives the client to keep and to send back.

Clients before 0.0.45 reject REASONING_ENCRYPTED_VALUE, and keep no such value with a message or a call, so that the model
does not get it back in the next run.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import messages_of

_WHY = "values that a model gave the client to keep, and will not get back"


@per_event("REASONING_ENCRYPTED_VALUE", "MESSAGES_SNAPSHOT", INPUT_ECHO)
def without_encrypted_values(context: Context) -> Step:
    """Drop REASONING_ENCRYPTED_VALUE. Values in messages stay: the client ignores them."""

    def report(event: Event) -> Event | None:
        sent = event.head.type == "REASONING_ENCRYPTED_VALUE"
        if sent or (event.may_contain(b"encryptedValue") and any(map(_is_encrypted, messages_of(event) or ()))):
            context.lost("encrypted values", _WHY, "0.0.45")
        return None if sent else event

    return report


def _is_encrypted(holder: object) -> bool:
    """Whether a message, or a call in it, has an encrypted value."""
    if not isinstance(holder, JsonObject):
        return False
    return "encryptedValue" in holder or any(map(_is_encrypted, holder.get_list("toolCalls") or ()))
