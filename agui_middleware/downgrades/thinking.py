"""THINKING_* events, from before reasoning had events of its own.

Agents from then still send them. 0.0.45 and 1.0.0 turn them into REASONING_* while they read; the releases between accept
them and show nothing, and those before want each message inside a span.
"""

from uuid import uuid4

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event

_SPAN = ("THINKING_START", "THINKING_END")
_MESSAGE = ("THINKING_TEXT_MESSAGE_START", "THINKING_TEXT_MESSAGE_CONTENT", "THINKING_TEXT_MESSAGE_END")


@per_event(*_SPAN, *_MESSAGE)
def thinking_as_reasoning(_: Context) -> Step:
    """Turn THINKING_* into REASONING_*, as 1.0.0 does.

    Ids are made up, as 1.0.0 makes them up: random ones, since a conversation holds them for good. What continues nothing
    stays, for the client to reject.
    """
    span: str | None = None
    message: str | None = None

    def rename(event: Event) -> Event:
        nonlocal span, message
        match event.head.type:
            case "THINKING_START":
                span = str(uuid4())
                plain = event if isinstance(event.get("title"), str) else event.without("title")
                return plain.replace(type="REASONING_START", messageId=span)
            case "THINKING_END" if span is not None:
                ended, span = span, None
                return event.replace(type="REASONING_END", messageId=ended)
            case "THINKING_TEXT_MESSAGE_START":
                message = str(uuid4())
                return event.replace(type="REASONING_MESSAGE_START", messageId=message, role="reasoning")
            case "THINKING_TEXT_MESSAGE_CONTENT" if message is not None:
                return event.replace(type="REASONING_MESSAGE_CONTENT", messageId=message)
            case "THINKING_TEXT_MESSAGE_END" if message is not None:
                ended, message = message, None
                return event.replace(type="REASONING_MESSAGE_END", messageId=ended)
            case _:
                return event

    return rename
