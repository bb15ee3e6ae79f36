"""What every test may ask for, and how generated examples are run."""

import gc
import sys
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, settings

from agui_middleware.agent_events import agent, turns
from agui_middleware.config import advertised
from agui_middleware.filters import source
from tests.clients.fixtures import client

__all__ = ["Run", "client", "run"]

Run = Callable[[Callable[[], Coroutine[Any, Any, object]]], object]

# Time is the machine's affair: a slow one says nothing about the example that it was slow on.
# The same examples each time: what has passed once passes again; `thorough` looks for new ones.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=True,
    max_examples=50,  # of some sixty properties, on each change; `thorough` draws more, and others each time
)
settings.register_profile("thorough", settings.get_profile("patient"), max_examples=5000, derandomize=False)
settings.register_profile("explore", settings.get_profile("patient"), max_examples=200, derandomize=False)
settings.register_profile("quick", settings.get_profile("patient"), max_examples=10)
settings.load_profile("patient")


@pytest.fixture(params=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function to its end, on each event loop in turn."""
    return partial(anyio.run, backend=request.param)


@pytest.fixture(autouse=True)
def _first_records() -> None:
    """Each test starts with nothing logged, though some logs count for the whole process."""
    for log in (source.process_log, advertised.process_log, turns.process_log, agent.process_log):
        log.forget()


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end. Each look of the garbage collector at them takes a fifth of a second."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Have what is `untraced` run without coverage. The mark that pytest-cov has for that stops one of the two tracers which
    a worker of pytest-xdist has.
    """
    if item.get_closest_marker("untraced") is None:
        return (yield)
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(trace)
