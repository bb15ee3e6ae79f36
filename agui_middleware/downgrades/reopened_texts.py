"""A text message that is continued after its END.

Before 0.0.44 a client makes a second message of the same id there, and appends what follows to the first one; up to 0.0.36
it appends to the second. From 0.0.37 on any number of messages may be open, so a message is kept open for as long as it
may be continued: its END leaves with the end of the run.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject
from agui_middleware.protocol.messages import messages_of

_TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


@handles("TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT", *_TERMINAL)
async def keep_texts_open(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Hold back the END of texts.

    A message that was not opened in this run, but brought by a snapshot, an echo, a tool call or an earlier run, cannot be
    spared its second one: it stays empty.
    """
    opened: set[object] = set()  # the messages that the client got in this run
    ends: dict[str, Event] = {}  # of those that are kept open
    async for event in events:
        type, id = event.head.type, event.head.messageId
        if type == "TEXT_MESSAGE_END" and isinstance(id, str) and id in opened:
            ends[id] = event
            continue
        if type == "TEXT_MESSAGE_START" and isinstance(id, str):
            if ends.pop(id, None) is not None:
                continue
            opened.add(id)
        elif type != "TEXT_MESSAGE_END":
            opened &= _restated(event) if type == "MESSAGES_SNAPSHOT" else set()
            for gone in [id for id in ends if id not in opened]:
                yield ends.pop(gone)
        yield event
    for end in ends.values():
        yield end


def _restated(snapshot: Event) -> set[object]:
    """The ids of the messages in a snapshot."""
    messages = messages_of(snapshot) or ()
    return {id for message in messages if isinstance(message, JsonObject) and isinstance(id := message.get("id"), str)}
