"""Loops inside loops, on asyncio: how a run passes on the events of the runs inside its tools."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from agui_middleware.agent_events.models import AgentEvent, Nested


async def nested_events(tool: str, id: str, events: AsyncIterator[AgentEvent]) -> AsyncGenerator[AgentEvent, None]:
    """Yield the events of a run inside the call `id` of `tool`, each wrapped in `Nested`. Closing this closes the run."""
    try:
        async for event in events:
            yield Nested(tool=tool, id=id, event=event)
    finally:
        await _close(events)


async def merge(*loops: AsyncIterator[AgentEvent]) -> AsyncGenerator[AgentEvent, None]:
    """Run several loops at once and yield their events as they come, those of each loop in its order.

    An exception of one loop cancels the others and is raised; closing this generator closes all loops. Put it in
    `async with contextlib.aclosing(merge(...)) as events`: `async for` does not close a generator that it leaves early
    (PEP 525), so that without it the loops would outlive a client that disconnects.
    """
    coming = {asyncio.ensure_future(anext(loop, None)): loop for loop in loops}
    try:
        while coming:
            done, _ = await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in coming if task in done]:
                loop, event = coming.pop(task), task.result()
                if event is not None:
                    coming[asyncio.ensure_future(anext(loop, None))] = loop
                    yield event
    finally:
        for task in coming:
            task.cancel()
        await asyncio.gather(*coming, return_exceptions=True)
        for loop in loops:
            await _close(loop)


async def _close(loop: AsyncIterator[AgentEvent]) -> None:
    if isinstance(loop, AsyncGenerator):
        await loop.aclose()
