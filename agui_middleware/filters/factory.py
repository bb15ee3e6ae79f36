"""Which functions make filters, so that a configuration file may call them."""

from collections.abc import Callable
from typing import Any, Final, ParamSpec

from agui_middleware.filters.contract import Filter

P = ParamSpec("P")

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
