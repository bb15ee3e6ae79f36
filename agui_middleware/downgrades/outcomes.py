"""Outcomes from after 0.0.59, and what its releases do not expect inside an outcome.

From 0.0.54 to 0.0.59 a client rejects the run that ends with an outcome of another type than `success` or `interrupt`, or
with a member of another name in it; 0.0.59 does so for a subagent's outcome too. 1.0.0 leaves out what it does not know.

`pendingToolCallIds` is what a client tells from the calls that nobody answered, so nothing is lost with it. `cancelled` has
no faithful form: without an outcome it reads as success, and RUN_ERROR would have it read as a failure, which is to change
how the run ended, and would come without the run's `usage`. It reads as success.
"""

from functools import partial
from typing import Final

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_object

# By event, the outcomes that are read, and the members that they may have beside their type.
_READ: Final[dict[str, dict[str, frozenset[str]]]] = {
    "RUN_FINISHED": {"success": frozenset(), "interrupt": frozenset({"interrupts"})},
    "SUBAGENT_FINISHED": {"success": frozenset(), "suspended": frozenset({"interruptIds"})},
}
_DERIVED: Final = "pendingToolCallIds"


@per_event("RUN_FINISHED", "SUBAGENT_FINISHED")
def readable_outcomes(context: Context) -> Step:
    """Drop outcomes of other types, and from the others what they may not hold."""
    return lambda event: edit_object(event, "outcome", partial(_read, _READ[event.head.type], context))


def _read(read: dict[str, frozenset[str]], context: Context, outcome: JsonObject) -> JsonObject | None:
    type = outcome.get("type")
    if not isinstance(type, str) or type not in read:
        since = "1.0.0" if type == "cancelled" else None
        context.lost("outcome", "how the run ended; without an outcome it reads as success", since)
        return None
    foreign = outcome.keys() - read[type] - {"type"}
    if foreign - {_DERIVED}:
        context.lost("outcome members", "what no known release reads of how the run ended")
    return outcome.without(*foreign)
