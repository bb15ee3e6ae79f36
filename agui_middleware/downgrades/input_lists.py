"""Inputs without `tools` or `context`.

In an input echo 1.0.0 treats both as empty; releases 0.0.41 to 0.0.59 reject the run. In the other direction,
ag-ui-protocol before 1.0.0 rejects a posted input if one of four members is absent, or one of the two lists is null.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import INPUT_ECHO, Step, per_event
from agui_middleware.protocol.event import JsonObject
from agui_middleware.protocol.messages import edit_object
from agui_middleware.protocol.posted import Posted


@per_event(INPUT_ECHO)
def with_input_lists(_: Context) -> Step:
    """Add missing lists to an input echo, empty."""

    def fill(input: JsonObject) -> JsonObject:
        missing: dict[str, object] = {name: [] for name in ("tools", "context") if name not in input}
        return input.replace(**missing) if missing else input

    return lambda event: edit_object(event, "input", fill)


def with_required_members(posted: Posted) -> Posted:
    """Add `tools`, `context`, `state` and `forwardedProps` to a posted input that leaves them out, empty."""
    missing: dict[str, object] = {name: [] for name in ("tools", "context") if posted.input.get(name) is None}
    missing |= {name: {} for name in ("state", "forwardedProps") if name not in posted.input}
    return posted.with_members(**missing) if missing else posted
