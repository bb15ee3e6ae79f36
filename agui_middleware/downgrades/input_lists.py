"""An input echo that leaves out `tools` or `context`.

1.0.0 reads both as empty; releases 0.0.41 to 0.0.59 reject the run.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import edit_object


@handles("RUN_STARTED")
async def with_input_lists(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Add the lists that an input echo leaves out, empty."""

    def fill(input: JsonObject) -> JsonObject:
        missing: dict[str, object] = {name: [] for name in ("tools", "context") if name not in input}
        return input.replace(**missing) if missing else input

    async for event in events:
        yield edit_object(event, "input", fill)
