"""A model's reasoning, for routes that keep it to themselves."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event, JsonObject, as_id
from agui_middleware.protocol.event_kind import REASONING, REASONING_SPAN, THINKING, THINKING_SPAN
from agui_middleware.protocol.event_types import types_about
from agui_middleware.protocol.messages import edit_messages

_REASONING = types_about(REASONING, REASONING_SPAN, THINKING, THINKING_SPAN)
_ENCRYPTED = "REASONING_ENCRYPTED_VALUE"


@handles(EVERYTHING)
async def without_reasoning(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Drop reasoning: REASONING_* and THINKING_* events, messages of the role `reasoning` in snapshots and in the input
    echo, and their encrypted values.

    The encrypted values of other messages and of calls stay: nobody can read them, and the model wants them back with
    what it said. Nothing is reported as lost, since the route wants it so.
    """
    known: Index[str | None, Any] = Index(context.budget)  # the ids of reasoning
    # Explicit events close chunks. Without some of them, what is left of the chunks would fit into something else.
    async with aclosing(expand_chunks(events, context)) as expanded:
        async for event in expanded:
            type = event.head.type
            if type in ("MESSAGES_SNAPSHOT", "RUN_STARTED"):
                yield edit_messages(event, lambda message: _show(message, known))
            elif type == _ENCRYPTED:
                if event.get("subtype") == "tool-call" or as_id(event.head.entityId) not in known:
                    yield event
            elif type in _REASONING:
                known.add(as_id(event.head.messageId))
            else:
                yield event


def _show(message: JsonObject, known: Index[str | None, Any]) -> JsonObject | None:
    if message.get("role") != "reasoning":
        return message
    known.add(as_id(message.get("id")))
    return None
