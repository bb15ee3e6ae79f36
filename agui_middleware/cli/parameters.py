"""What commands take: a client, a filter, the body of a request."""

import sys
from typing import TYPE_CHECKING, Any

import click

from agui_middleware.config.named_clients import RefusedClient, parse_client
from agui_middleware.config.readers import Reader
from agui_middleware.config.references import imported
from agui_middleware.filters.contract import Filter
from agui_middleware.filters.functions import FILTER, is_filter_factory, why_no_filter
from agui_middleware.protocol.json_object import JsonObject, MalformedEvent
from agui_middleware.protocol.releases import ClientVersion

if TYPE_CHECKING:  # generic in the newest click only
    ReleaseType = click.ParamType[ClientVersion | Reader | None]
    FilterType = click.ParamType[Filter]
    BodyType = click.ParamType[JsonObject]
else:
    ReleaseType = FilterType = BodyType = click.ParamType


class Release(ReleaseType):
    """A release of @ag-ui/client, another SDK and its version, or `current`."""

    name = "release"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> ClientVersion | Reader | None:
        """`None` for `current`."""
        if value == "current" or isinstance(value, ClientVersion | Reader):
            return None if value == "current" else value
        try:
            return parse_client(value)
        except RefusedClient as refused:
            self.fail(str(refused), param, ctx)
        except ValueError:
            self.fail(
                f"{value!r} is neither 'current' nor a release of @ag-ui/client, such as 0.0.58, nor an SDK and its "
                "version, such as ag_ui@0.2.0; `agui-middleware explain --list` lists the SDKs",
                param,
                ctx,
            )


class Importable(FilterType):
    """A filter, as `package.module:name`, which may be in the working directory."""

    name = "package.module:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        """What the name stands for, which may be a filter."""
        search_working_directory()
        try:
            filter: Filter = imported(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if is_filter_factory(filter):
            name = value.rpartition(":")[2]
            self.fail(f"{value!r} makes filters; name one that it has made, such as `mine = {name}(...)`", param, ctx)
        why = why_no_filter(filter)
        if why is not None:
            self.fail(f"{value!r} {why}; {FILTER}", param, ctx)
        return filter


class Body(BodyType):
    """A file with the body of a request, a RunAgentInput."""

    name = "filename"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> JsonObject:
        """The object in the file."""
        with click.File("rb").convert(value, param, ctx) as file:
            try:
                return JsonObject.parse(file.read())
            except MalformedEvent as error:
                self.fail(f"{value!r}: {error}", param, ctx)


def search_working_directory() -> None:
    """Have modules be looked for in the working directory too, as `python -m` does and an installed script does not."""
    sys.path.insert(0, "")
