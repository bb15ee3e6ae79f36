"""A list of events through filters, and what left for each of them."""

from collections.abc import Sequence
from functools import lru_cache

from agui_middleware.filters.composition import Composition
from agui_middleware.filters.contract import Context, Filter
from agui_middleware.protocol.event import Event
from agui_middleware.stream.chain import Chain


async def run_filters(events: Sequence[Event], composition: Composition, context: Context) -> list[list[Event]]:
    """What left while each of `events` was at work, and at last what left behind the end.

    A filter that holds an event back lets it out while a later one is at work. An event that nobody changed leaves as the
    very object that came. Raises what a filter raises.
    """
    out: list[list[Event]] = [[]]

    async def emit(event: Event) -> None:
        out[-1].append(event)

    none = len(composition.filters)
    if composition.together and all(composition.next[0][event.type] == none for event in events):
        return [*([event] for event in events), []]  # none looks at any of them
    chain = Chain(composition, context, emit)
    try:
        await chain.start()
        for event in events:
            await chain.push(event)
            out.append([])
        await chain.finish()
    finally:
        await chain.close()
    if chain.failure is not None:
        raise chain.failure
    return out


@lru_cache(maxsize=256)
def compose(*filters: Filter) -> Composition:
    """Filters such as that of a row of the downgrades, which many streams go through."""
    return Composition(filters)
