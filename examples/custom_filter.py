"""A filter of your own, built on a ready-made one: only clients that may read card numbers get them.

    python examples/custom_filter.py

A filter takes the events of one response and returns what leaves of them. Its context says whose they are: here the scopes
that Starlette's AuthenticationMiddleware has put into the request. Where a number hides in a stream is left to `redact`.
"""

from collections.abc import AsyncIterator

from agui_middleware import Context, Event, rewrite
from agui_middleware.filters.redact import redact
from agui_middleware.testing import decode_events, encode_events

masked = redact(r"\b\d{4}(?:[ -]?\d{4}){3}\b", "[card number]")


def without_card_numbers(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    may_read_them = "cards" in getattr(context.scope.get("auth"), "scopes", ())
    return events if may_read_them else masked(events, context)


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
