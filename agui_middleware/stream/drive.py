"""A list of events through filters, and what left for each of them."""

from collections.abc import Sequence
from functools import lru_cache

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.protocol.event import Event
from agui_middleware.stream.chain import Chain
from agui_middleware.stream.pumps import Pumps


async def run_filters(events: Sequence[Event], composition: Composition, context: Context) -> list[list[Event]]:
    """Return what left while each of `events` was at work, and at last what left behind the end.

    A filter that holds an event back lets it out while a later one is at work. An event that nobody changed leaves as the
    very object that came. Raises what a filter raises.
    """
    out: list[list[Event]] = [[]]
    chain = Chain(composition, context, lambda event: out[-1].append(event))
    pumps = Pumps(composition.awaiting, context, chain, _nothing)
    try:
        await pumps.start()
        for event in events:
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
    """Compose filters such as that of a row of the downgrades, which many streams go through."""
    return Composition(filters)
