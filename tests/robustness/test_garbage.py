"""A finished request leaves nothing for the garbage collector: it would keep the request, and its posted conversation, until
that comes, and each collection stops all streams of the process.
"""

import gc
from typing import Any

import pytest

from agui_middleware import AGUIMiddleware, Route, Settings
from agui_middleware.asgi.fault_watch import ALL_EXAMINED
from agui_middleware.filters.needs_input import needs_input
from tests.benchmarks import requests
from tests.robustness.leaks import only_new_objects


@needs_input
async def reads_input(events: Any, context: Any) -> Any:
    async for event in events:
        if context.input is not None:
            yield event


SETTINGS = {
    "plain": Settings(routes=[Route(path="/agent")]),
    "hidden": Settings(routes=[Route(path="/agent", visibility="hidden")]),
    "a history": Settings(routes=[Route(path="/agent")], history="memory://"),
    "a filter that reads the input": Settings(routes=[Route(path="/agent", filters=[reads_input])]),
    "the command dialect": Settings(routes=[Route(path="/agent")], interrupts="outcome"),
}
CLIENTS = (None, b"0.0.36", b"0.0.58", b"1.0.0", b"@tanstack/ai-client@0.10.0")


@pytest.mark.parametrize("media_type", [b"text/event-stream", b"application/json"])
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
async def test_a_finished_request_leaves_nothing_to_collect(
    settings: Settings, client: bytes | None, media_type: bytes
) -> None:
    app = AGUIMiddleware(requests.answering(media_type, requests.RUN), settings)
    once = requests.answered(app, 1, client=client)
    for _ in range(ALL_EXAMINED + 2):  # caches, lazy imports
        await once()
    only_new_objects()
    gc.disable()
    try:
        await once()
        assert gc.collect() == 0
    finally:
        gc.enable()
