"""The last step of a plan: drop the event types that a release does not know.

Clients before 1.0.0 reject the run at an event of an unknown type. Chunks that `expand_chunks` could not expand pass: 1.0.0
rejects them, so older clients have to see them too.
"""

from typing import Final

from agui_middleware.filters.contract import Context, Filter
from agui_middleware.filters.declared import EVERYTHING, Step, per_event
from agui_middleware.protocol.chunk_lanes import ID_OF
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.event_types import KNOWN_SINCE, TOKENS, types_that
from agui_middleware.protocol.releases import ClientVersion

TOLERANT: Final = ClientVersion(1, 0, 0)
"""From this release on, a client skips what it does not know."""


def known_types(client: ClientVersion) -> frozenset[str]:
    """The event types that a release reads."""
    return types_that(lambda kind: ClientVersion.parse(kind.since) <= client)


def guard(client: ClientVersion) -> Filter:
    """The filter that drops the event types that `client` does not know."""

    @per_event(EVERYTHING, except_=known_types(client) | ID_OF.keys(), repeats=TOKENS)
    def drop_unknown_types(context: Context) -> Step:
        def drop(event: Event) -> None:
            if event.type in KNOWN_SINCE:
                context.lost(event.type, "an event of a type that this release does not know", KNOWN_SINCE[event.type])
            else:
                # Any text may stand there: one feature for all, since features are remembered and counted, and no raw text.
                # No release keeps it: those from 1.0.0 on skip it.
                why = f"an event of the type {event.type[:80]!a}, which this release does not know"
                context.lost("unknown-types", why)

        return drop

    return drop_unknown_types
