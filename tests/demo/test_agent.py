"""The loops of the sample agent, side by side."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import cast

import anyio

from agui_middleware.agent_events import AgentEvent, TextDelta
from agui_middleware.demo.agent import together


async def test_loops_that_run_side_by_side_end_when_nobody_listens_any_more() -> None:
    waiting, ended = anyio.Event(), anyio.Event()

    async def talks() -> AsyncIterator[AgentEvent]:
        await waiting.wait()
        yield TextDelta(text="Hello")

    async def waits() -> AsyncIterator[AgentEvent]:
        try:
            waiting.set()
            await anyio.sleep_forever()
            yield TextDelta(text="Never")
        finally:
            ended.set()

    events = cast("AsyncGenerator[AgentEvent, None]", together(talks(), waits()))
    with anyio.fail_after(10):
        assert await anext(events) == TextDelta(text="Hello")
        assert not ended.is_set()
        await events.aclose()
        await ended.wait()
