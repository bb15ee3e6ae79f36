"""What several commands take: a release of @ag-ui/client, and a filter."""

from typing import TYPE_CHECKING, Any

import click
from pydantic import ImportString, TypeAdapter, ValidationError

from agui_middleware.client import ClientVersion
from agui_middleware.filters import Filter

if TYPE_CHECKING:  # generic in the newest click only
    ReleaseType = click.ParamType[ClientVersion | None]
    FilterType = click.ParamType[Filter]
else:
    ReleaseType = FilterType = click.ParamType


class Release(ReleaseType):
    """A release of @ag-ui/client, or `current`."""

    name = "release"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ClientVersion | None:
        """`None` for `current`."""
        if value == "current" or isinstance(value, ClientVersion):
            return None if value == "current" else value
        try:
            return ClientVersion.parse(value)
        except ValueError:
            self.fail(f"{value!r} is neither 'current' nor a release of @ag-ui/client, such as 0.0.58", param, ctx)


class Importable(FilterType):
    """A filter, as `package.module:name`."""

    name = "package.module:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        """What the name stands for, which is callable."""
        try:
            filter: Any = TypeAdapter(ImportString).validate_python(value)
        except ValidationError as error:
            self.fail(error.errors()[0]["msg"], param, ctx)
        if not callable(filter):
            self.fail(f"{value!r} is not callable", param, ctx)
        return filter  # type: ignore[no-any-return]  # a callable is all that can be told
