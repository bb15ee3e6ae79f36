"""A filter of your own: keeps card numbers out of what a client reads.

    python examples/custom_filter.py

A filter is an async generator over the events of one response. This one rewrites the text of messages and leaves every
other event as it is, byte for byte. A number may be cut by the boundary of two deltas, so it holds back the digits at the
end of a delta until it sees what follows them.
"""

import re
from collections.abc import AsyncIterator

from agui_middleware import Context, Event, rewrite
from agui_middleware.testing import decode_events, encode_events

CARD = re.compile(r"\b\d{4}(?:[ -]?\d{4}){3}\b")
UNFINISHED = re.compile(r"\d[\d -]{0,18}$")


async def without_card_numbers(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    held: dict[str, str] = {}  # by message, what may be the beginning of a number
    async for event in events:
        if event.type == "TEXT_MESSAGE_CONTENT":
            text = CARD.sub("[card number]", held.pop(event["messageId"], "") + event["delta"])
            if unfinished := UNFINISHED.search(text):
                held[event["messageId"]] = unfinished.group()
                text = text[: unfinished.start()]
            if text == event["delta"]:
                yield event
            elif text:
                yield event.replace(delta=text)
            continue
        if event.type == "TEXT_MESSAGE_END" and (rest := held.pop(event["messageId"], "")):
            yield Event(type="TEXT_MESSAGE_CONTENT", messageId=event["messageId"], delta=rest)
        yield event


def main() -> None:
    """Show what the filter makes of a stream; in a server it is `Route(filters=[without_card_numbers])`."""
    deltas = ["Your card 4111 11", "11 1111 1111 was charged ", "42 euros."]
    events = [
        {"type": "RUN_STARTED", "threadId": "thread", "runId": "run"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        {"type": "RUN_FINISHED", "threadId": "thread", "runId": "run"},
    ]
    rewritten = decode_events(rewrite(encode_events(events), filters=[without_card_numbers]))
    print("".join(event.get("delta", "") for event in rewritten))


if __name__ == "__main__":
    main()
