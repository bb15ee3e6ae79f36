"""The last step of a plan: event types that a release does not know.

Before 1.0.0 a client rejects an event of an unknown type while it decodes it, and the run with it.
"""

from collections.abc import AsyncIterator

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, handles
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import EventType
from agui_middleware.protocol.releases import ClientVersion

# The first release that reads a type; those not named here are read by all.
KNOWN_SINCE: dict[str, str] = {
    **dict.fromkeys(["TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK"], "0.0.28"),
    "TOOL_CALL_RESULT": "0.0.30",
    **{type: "0.0.37" for type in EventType if type.startswith("THINKING_")},
    **{type: "0.0.41" for type in EventType if type.startswith("ACTIVITY_")},
    **{type: "0.0.45" for type in EventType if type.startswith("REASONING_")},
    **{type: "0.0.59" for type in EventType if type.startswith("SUBAGENT_")},
}
TOLERANT = ClientVersion(1, 0, 0)
"""From this release on, a client skips what it does not know."""


def known_types(client: ClientVersion) -> frozenset[str]:
    """The event types that a release reads."""
    return frozenset(type for type in EventType if ClientVersion.parse(KNOWN_SINCE.get(type, "0.0.0")) <= client)


def guard(client: ClientVersion) -> Filter:
    """The filter that drops the event types that `client` does not know."""
    known = known_types(client)

    @handles(EVERYTHING, except_=known)
    async def drop_unknown_types(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
        async for event in events:
            if event.type in known:
                yield event
            elif event.type in KNOWN_SINCE:
                context.lost(event.type, "an event of a type that this release does not know", KNOWN_SINCE[event.type])
            else:
                # Any text may stand there: one shape for all, since shapes are remembered and counted, and no raw text.
                why = f"an event of the type {event.type[:80]!a}, which this release does not know"
                context.lost("unknown-types", why, str(TOLERANT))

    return drop_unknown_types
