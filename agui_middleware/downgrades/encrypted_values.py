"""Encrypted values: what a model hands the client to keep and to send back.

Before 0.0.45 a client rejects REASONING_ENCRYPTED_VALUE, and keeps no such value with a message or a call. The model misses
it in the next run.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import messages_of

_WHY = "values that a model gave the client to keep, and will not get back"


@per_event("REASONING_ENCRYPTED_VALUE", "MESSAGES_SNAPSHOT", "RUN_STARTED")
def without_encrypted_values(context: Context) -> Step:
    """Drop REASONING_ENCRYPTED_VALUE. Those in messages stay: the client leaves them out itself."""

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
