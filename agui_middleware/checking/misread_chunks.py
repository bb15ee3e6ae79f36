"""The expansion of all chunks of a stream by a release of @ag-ui/client, before it verifies the order of events."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from agui_middleware.filters.chunks import expand_chunks
from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import EVERYTHING, Step, per_event
from agui_middleware.protocol.chunk_lanes import ID_OF, PARENT, START_MEMBERS, Lanes
from agui_middleware.protocol.event import UNSET, Event, as_id
from agui_middleware.protocol.event_types import TOKENS
from agui_middleware.protocol.releases import ClientVersion
from agui_middleware.stream.drive import compose, run_filters

_FIRST_WITH_LANES: Final = ClientVersion(0, 0, 59)


class Piece(NamedTuple):
    """An event as the client verifies it, and the place in the stream of the event that it was made of."""

    place: int
    event: Event


async def expanded(events: Sequence[Event], client: ClientVersion) -> list[Piece]:
    """The stream with its chunks expanded as `client` does it. A chunk that it refuses stays as it is."""
    reading = compose(expand_chunks) if client >= _FIRST_WITH_LANES else compose(in_one_lane, expand_chunks)
    left = await run_filters(events, reading, Context(client))
    return [Piece(min(place, len(events) - 1), event) for place, out in enumerate(left) for event in out]


async def first_misplaced(events: Sequence[Event], client: ClientVersion) -> int | None:
    """The place of the first chunk that `client` adds to another message or call than 1.0.0 does."""
    ours, theirs = [_contents(await expanded(events, release)) for release in (client, _FIRST_WITH_LANES)]
    return min((place for place, *_ in ours ^ theirs), default=None)


def _contents(pieces: list[Piece]) -> set[tuple[int, str | None, str | None]]:
    contents = (piece for piece in pieces if piece.event.type in TOKENS)
    return {(place, as_id(event.head.messageId), as_id(event.head.toolCallId)) for place, event in contents}


@per_event(EVERYTHING)
def in_one_lane(_: Context) -> Step:
    """The stream as a release from before 0.0.59 reads it, which has one lane for the chunks of all subagents.

    The members of a chunk that continues its lane are not compared with those of its START.
    """
    lanes = Lanes()

    def show(event: Event) -> Event:
        event, type = event.untagged(), event.head.type
        if type not in ID_OF:
            lanes.close(event)
            return event
        held = lanes.open.get(PARENT)
        if held is not None and held.type == type and getattr(event.head, ID_OF[type]) in (UNSET, held.id):
            return event.without(*START_MEMBERS[type])
        lanes.take(event)
        return event

    return show
