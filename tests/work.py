"""Work counted instead of timed, so that a test of growth says the same on every machine."""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


def work_of(action: Callable[[], object]) -> int:
    """Calls made, and bytes looked at: each call of a method of `bytes` counts all the bytes it is called on."""
    work = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal work
        if event == "call":
            work += 1
        elif event == "c_call":
            owner = getattr(arg, "__self__", None)
            work += 1 + (len(owner) if isinstance(owner, bytes | bytearray) else 0)

    before = sys.getprofile()
    with _uncollected():
        sys.setprofile(count)
        try:
            action()
        finally:
            sys.setprofile(before)
    return work


def steps_of(action: Callable[[], object]) -> int:
    """Lines of Python that were run, those of loops and comprehensions each time: what `work_of` misses."""
    steps = 0

    def count(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    before = sys.gettrace()
    with _uncollected():
        sys.settrace(count)
        try:
            action()
        finally:
            sys.settrace(before)
    return steps


def memory_of(action: Callable[[], object]) -> tuple[int, int]:
    """Bytes that `action` leaves allocated, and the most that it had allocated at once."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector, whose callbacks (hypothesis has some) would be counted, from running meanwhile."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
