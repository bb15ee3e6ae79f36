"""Loops inside loops, on asyncio: how a run passes on what the runs inside its tools do."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from agui_middleware.agent_events.models import AgentEvent, Nested


async def inside(tool: str, id: str, events: AsyncIterator[AgentEvent]) -> AsyncGenerator[AgentEvent, None]:
    """The events of a run inside the call `id` of `tool`, as the run that called it passes them on."""
    try:
        async for event in events:
            yield Nested(tool=tool, id=id, event=event)
    finally:
        await _close(events)


async def together(*loops: AsyncIterator[AgentEvent]) -> AsyncGenerator[AgentEvent, None]:
    """The events of several loops at once, as they come. One that raises ends all of them, and so does closing this.

    `async for` closes no generator that it leaves early (PEP 525), so that a run in which a client may leave has
    `async with contextlib.aclosing(together(...)) as events` around it, and is closed only when its loops are.
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
