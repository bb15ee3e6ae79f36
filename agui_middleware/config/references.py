"""How a configuration refers to a filter."""

from typing import Any

from pydantic import ImportString, TypeAdapter, ValidationError

from agui_middleware.filters.contract import FILTER, Filter, why_no_filter

_import: TypeAdapter[Any] = TypeAdapter(ImportString)


def imported(reference: str) -> Any:
    """What `package.module:name` stands for. Raises `ValueError` where it cannot be imported, whatever its module raises."""
    try:
        return _import.validate_python(reference)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from error
    except Exception as error:
        raise ValueError(f"importing {reference!r} raised {type(error).__name__}: {error}") from error


def referenced(value: Any) -> "Filter | str":
    """The filter that a route refers to; a string, where it is the name of one given as `filters=`.

    Raises `ValueError` where it cannot be imported or made, or is none.
    """
    if isinstance(value, str) and ":" not in value:
        return value
    if isinstance(value, dict):
        return _made(**value)
    filter: Filter = imported(value) if isinstance(value, str) else value
    if not callable(filter):
        raise ValueError(
            "a name given to `filters=`, an import string 'package.module:name', a callable, "
            "or a table of `use` (the import string of what makes a filter) and its arguments"
        )
    why = why_no_filter(filter)
    if why is not None:
        raise ValueError(f"{value!r} {why}; {FILTER}, and what makes one is named by `use` in a table")
    return filter


def _made(use: str | None = None, **arguments: Any) -> Filter:
    """A filter that takes arguments, made with those beside `use`."""
    make = None if use is None else imported(use)
    if not callable(make):
        raise ValueError("a table names in `use` what makes the filter, as 'package.module:name'")
    try:
        filter: Filter = make(**arguments)
    except TypeError as error:
        raise ValueError(f"{use!r} cannot be called with these arguments: {error}") from error
    why = why_no_filter(filter)
    if why is not None:
        raise ValueError(f"{use!r} does not make a filter: {filter!r} {why}; {FILTER}")
    return filter
