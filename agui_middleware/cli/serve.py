"""`agui-middleware serve`."""

from pathlib import Path
from typing import Any

import click

from agui_middleware.cli.parameters import search_working_directory
from agui_middleware.cli.server import extra, run, server_options, wrap


@click.command()
@click.argument("app", metavar="MODULE:APP")
@server_options
def serve(app: str, config: Path | None, **server: Any) -> None:
    """Serve the ASGI app MODULE:APP, wrapped, with uvicorn.

    MODULE is looked for in the working directory too. Settings come from the environment and from files, as where the
    middleware is added in Python; filters are named as package.module:name.
    """
    run(wrap(_load(app), config), **server)


def _load(name: str) -> Any:
    with extra("proxy", "uvicorn"):
        from uvicorn.importer import ImportFromStringError, import_from_string
    search_working_directory()
    try:
        app = import_from_string(name)
    except ImportFromStringError as error:
        raise click.BadParameter(str(error), param_hint="MODULE:APP") from None
    if not callable(app):
        raise click.BadParameter(f"{name!r} is no ASGI app: it cannot be called", param_hint="MODULE:APP")
    return app
