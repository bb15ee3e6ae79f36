"""Which functions are filters, and which make filters, so that a configuration file may call them."""

import inspect
from collections.abc import Callable
from typing import Any, Final, ParamSpec

from agui_middleware.filters.contract import Filter

P = ParamSpec("P")

FILTER: Final = "a filter is an async generator function of events and context"

_MARK: Final = "__agui_filter_factory__"


def filter_factory(make: Callable[P, Filter]) -> Callable[P, Filter]:
    """Declare that a function makes a filter from its arguments, so that `use` in a configuration may call it.

        @filter_factory
        def without_events(names: list[str]) -> Filter: ...

        filters = [{ use = "package.module:without_events", names = ["debug"] }]

    `use` calls nothing else: a settings file or an environment variable cannot run any function that can be imported.
    Returns the function itself, which Python code calls as before.
    """
    setattr(make, _MARK, True)
    return make


def is_filter_factory(value: Any) -> bool:
    """Whether `value` was declared with `filter_factory`."""
    return callable(value) and getattr(value, _MARK, False) is True


def why_no_filter(value: Any) -> str | None:
    """What keeps `value` from being a filter, as words behind its name; `None`: nothing that shows without a call."""
    if not callable(value):
        return "is not callable"
    if is_filter_factory(value):
        return "makes filters, and has to be called with its arguments"
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
