"""Runs a list of events through filters, and groups the output by event."""

from collections.abc import Collection, Sequence
from functools import lru_cache

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.protocol.event import Event
from agui_middleware.stream.chain import Chain
from agui_middleware.stream.pumps import Pumps


async def run_filters(
    events: Sequence[Event], composition: Composition, context: Context, passing: Collection[int] = ()
) -> list[list[Event]]:
    """Return the events that left while each of `events` was processed, and as the last item those that left after the end.

    An event that a filter holds back leaves while a later one is processed. An unchanged event is the same object as in
    `events`. `passing` are the places of those that no filter reads, see `EventSource.let_go`. Raises what a filter raises.
    """
    out: list[list[Event]] = [[]]
    chain = Chain(composition, context, lambda event: out[-1].append(event))
    pumps = Pumps(composition.awaiting, context, chain, _nothing)
    try:
        await pumps.start()
        for place, event in enumerate(events):
            if place in passing:
                chain.let_go()
                out[-1].append(event)
            else:
                await pumps.push(event)
            out.append([])
        await pumps.finish()
    finally:
        await pumps.close()
        chain.close()
    if chain.failure is not None:
        raise chain.failure
    return out


async def _nothing() -> None:
    pass


@lru_cache(maxsize=256)
def compose(*filters: Filter) -> Composition:
    """Compose filters that many streams run through, such as the filter of one downgrade."""
    return Composition(filters)
