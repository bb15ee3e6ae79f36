"""A tool call before its message has said anything.

TanStack's client before 0.30.0 makes one message of the call and the text behind it, and loses the beginning of the text:
0.26.0 drops the first piece of any such text; older releases drop everything before the point where a text goes on after its
end. Agents usually call a tool before they say anything.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, as_id


@handles("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TOOL_CALL_START")
async def with_call_messages(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Give such a call an empty message of its own, whose id is the call's, as @ag-ui/client does with one that has none."""
    started = set[str | None]()
    spoken = set[str | None]()
    async for event in events:
        type, id, holder = event.head.type, as_id(event.head.toolCallId), as_id(event.head.parentMessageId)
        if type != "TOOL_CALL_START":
            (started if type == "TEXT_MESSAGE_START" else spoken).add(as_id(event.head.messageId))
        elif id is not None and (holder is None or holder not in spoken) and not (holder == id and id in started):
            yield Event(type="TEXT_MESSAGE_START", messageId=id, role="assistant")
            yield Event(type="TEXT_MESSAGE_END", messageId=id)
            event = event.replace(parentMessageId=id)
        yield event
