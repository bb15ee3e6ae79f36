"""Whether something can be a filter, told at start instead of by RUN_ERROR in each response."""

import inspect
from collections.abc import Callable
from typing import Any, Final

FILTER: Final = "a filter is an async generator function of events and context"


def why_no_filter(value: Any) -> str | None:
    """What keeps `value` from being a filter, as words behind its name; `None`: nothing that shows without a call."""
    if not callable(value):
        return "is not callable"
    if not _may_be_called(value, "events", "context"):
        return "does not take events and context"
    if isinstance(value, type) and not hasattr(value, "__aiter__"):
        return "is a class whose instances are no async iterators"
    # A function is called as such, and an object by its class's `__call__`.
    called = (value, value.__call__)
    if any(map(inspect.iscoroutinefunction, called)):
        return "is a coroutine function: it does not yield"
    if any(map(inspect.isgeneratorfunction, called)):
        return "is a generator function that is not async"
    return None


def _may_be_called(function: Callable[..., Any], *arguments: object) -> bool:
    try:
        inspect.signature(function, follow_wrapped=False).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # it has none: built in
        return True
    return True
