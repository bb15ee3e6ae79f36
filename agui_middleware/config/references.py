"""How a configuration refers to a filter."""

import sys
from importlib.util import find_spec
from typing import Any, Final

from pydantic import ImportString, TypeAdapter, ValidationError

from agui_middleware.config.spelling import did_you_mean
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.functions import FILTER, is_filter_factory, why_no_filter

_import: TypeAdapter[Any] = TypeAdapter(ImportString)
_READY_MADE: Final = "agui_middleware.filters"


def imported(reference: str) -> Any:
    """The object that `package.module:name` names. Raises `ValueError` where it cannot be imported, whatever its module
    raises.
    """
    try:
        return _import.validate_python(reference)
    except ValidationError as error:
        reason = error.errors()[0]["msg"].removeprefix("Invalid python path: ")
        raise ValueError(f"{reference!r} cannot be imported: {reason}{_hint(reference)}") from error
    except Exception as error:
        raise ValueError(f"importing {reference!r} raised {type(error).__name__}: {error}") from error


def _hint(reference: str) -> str:
    """The ready-made filter, where a reference lacks the package; else the name in its module that is spelt nearly so."""
    module, _, name = reference.partition(":")
    if module.isidentifier() and find_spec(f"{_READY_MADE}.{module}") is not None:
        return f"; the ready-made filters are named as '{_READY_MADE}.{module}:{name}'"
    found = sys.modules.get(module)
    return did_you_mean(name, [] if found is None else [known for known in vars(found) if not known.startswith("_")])


def referenced(value: Any) -> "Filter | str":
    """The filter that a route refers to; a string, where it is the name of one of `named_filters=`.

    Raises `ValueError` where it cannot be imported or made, or is not a filter.
    """
    if isinstance(value, str) and ":" not in value:
        return value
    if isinstance(value, dict):
        return _made(**value)
    filter: Filter = imported(value) if isinstance(value, str) else value
    if not callable(filter):
        raise ValueError(
            "expected a name given to `named_filters=`, an import string 'package.module:name', a callable, "
            "or a table of `use` (the import string of a filter factory) and its arguments"
        )
    why = why_no_filter(filter)
    if why is not None:
        raise ValueError(f"{value!r} {why}; {FILTER}, and `use` in a table names a function that makes one")
    return filter


def _made(use: str | None = None, **arguments: Any) -> Filter:
    """The filter that the factory `use` makes of the arguments beside it."""
    if not isinstance(use, str):
        raise ValueError("in a table, `use` names a filter factory, as 'package.module:name'")
    make = imported(use)
    if not is_filter_factory(make):
        raise ValueError(
            f"{use!r} is not declared with @filter_factory of agui_middleware.filters, so it is not called"
        )
    try:
        filter: Filter = make(**arguments)
    except TypeError as error:
        raise ValueError(f"{use!r} cannot be called with these arguments: {error}") from error
    why = why_no_filter(filter)
    if why is not None:
        raise ValueError(f"{use!r} does not make a filter: {filter!r} {why}; {FILTER}")
    return filter
