"""Which filters look at the posted input, so that the middleware reads it for them."""

from typing import Any, Final, TypeVar

F = TypeVar("F")

_MARK: Final = "__agui_needs_input__"


def needs_input(filter: F) -> F:
    """Declare that a filter looks at `Context.input`. It stands above `handles`, where a filter has both.

        @needs_input
        async def my_filter(events, context):
            tools = [] if context.input is None else context.input.get("tools")

    On a route with such a filter the body of a request is read before the app is called, and kept until the response ends.
    Returns the filter itself. A wrapper that `functools.wraps` makes is marked too; any other is not.
    """
    setattr(filter, _MARK, True)
    return filter


def does_need_input(filter: Any) -> bool:
    """Whether a filter was declared with `needs_input`."""
    return getattr(filter, _MARK, False) is True
