"""Runs an async scenario on an event loop of its own, and fails when anything of it is left behind."""

import asyncio
import functools
import gc
import inspect
import os
import sys
import types
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import anyio
import pytest
import trio

LOOPS = ("asyncio", "uvloop", "trio")
TIMEOUT = 10.0  # of a scenario that hangs; none comes near it


def on_every_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Turn an async test into one that runs under asyncio, uvloop and trio, and that leaves nothing behind."""

    @pytest.mark.parametrize("loop", LOOPS)
    @functools.wraps(test)
    def run(loop: str, **arguments: Any) -> None:
        run_clean(functools.partial(test, **arguments), loop)

    asked = inspect.signature(test).parameters.values()
    own = inspect.Parameter("loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    vars(run)["__signature__"] = inspect.Signature([own, *asked])  # what pytest reads
    return cast(Callable[..., None], run)


def run_clean(
    scenario: Callable[[], Awaitable[None]],
    loop: str = "asyncio",
    seconds: float = TIMEOUT,
    tolerates: str | None = None,
) -> None:
    """Run `scenario` and fail if it leaves a task, a running async generator, a file descriptor or a stray report.

    UnknownField reports are what nobody raises: "Task exception was never retrieved", "coroutine was never awaited",
    "async generator ignored GeneratorExit". Those that contain `tolerates` are somebody else's.
    """
    _run(loop, anyio.lowlevel.checkpoint)  # uvloop keeps the descriptors that its first run opened
    before = file_descriptors()
    only_new_objects()
    with stray_reports() as reports:
        _run(loop, _supervised, scenario, reports, seconds)
        gc.collect()
    ours = [report for report in reports if tolerates is None or tolerates not in report]
    assert not ours, ours
    assert file_descriptors() <= before


def _run(loop: str, scenario: Callable[..., Awaitable[None]], *arguments: Any) -> None:
    backend, options = ("trio", {}) if loop == "trio" else ("asyncio", {"use_uvloop": loop == "uvloop"})
    anyio.run(scenario, *arguments, backend=backend, backend_options=options)


async def _supervised(scenario: Callable[[], Awaitable[None]], reports: list[str], seconds: float) -> None:
    on_trio = trio.lowlevel.in_trio_run()
    if not on_trio:
        handle = asyncio.get_running_loop().set_exception_handler
        handle(lambda _, context: reports.append(str(context)))
    tasks = living_tasks(on_trio)
    with anyio.fail_after(seconds):
        await scenario()
    gc.collect()
    assert living_tasks(on_trio) <= tasks
    assert not (left := running_generators()), left


def living_tasks(on_trio: bool) -> int:
    if on_trio:
        return trio.lowlevel.current_statistics().tasks_living
    return len(asyncio.all_tasks())


def running_generators() -> list[Any]:
    """The async generators that were started and have not ended."""
    generators = [value for value in gc.get_objects() if isinstance(value, types.AsyncGeneratorType)]
    return [value for value in generators if value.ag_frame is not None and value.ag_frame.f_lasti > 0]


def only_new_objects() -> None:
    """Have the garbage collector leave what there is: to look at all of it would take most of a test's time."""
    gc.collect()  # of little: what an earlier call has left is not looked at
    gc.freeze()


def file_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@contextmanager
def stray_reports() -> Iterator[list[str]]:
    """What is reported to nobody meanwhile: unraisable exceptions, and warnings, which would be raised into nowhere."""
    reports: list[str] = []
    hook = sys.unraisablehook
    sys.unraisablehook = lambda report: reports.append(f"{report.err_msg}: {report.exc_value!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield reports
    finally:
        sys.unraisablehook = hook
