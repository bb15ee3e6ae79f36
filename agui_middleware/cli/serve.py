"""`agui-middleware serve`, and the options, settings and server that it shares with `proxy`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.types import ASGIApp

from agui_middleware.asgi.middleware import AGUIMiddleware
from agui_middleware.cli.parameters import search_working_directory
from agui_middleware.config.settings import Settings

_OPTIONS = (
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        envvar="AGUI_MIDDLEWARE_HOST",
        show_envvar=True,
        help="The address to bind.",
    ),
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8000,
        show_default=True,
        envvar="AGUI_MIDDLEWARE_PORT",
        show_envvar=True,
        help="The port to bind; 0 takes a free one.",
    ),
    click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        envvar="AGUI_MIDDLEWARE_CONFIG",
        show_envvar=True,
        help="A TOML file of settings, or a pyproject.toml. By default agui_middleware.toml and pyproject.toml are read.",
    ),
    click.option(
        "--timeout-graceful-shutdown",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        envvar="AGUI_MIDDLEWARE_TIMEOUT_GRACEFUL_SHUTDOWN",
        show_envvar=True,
        help="Seconds that streams have to end when the server is stopped.",
    ),
)


def server_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `host`, `port`, `config` and `timeout_graceful_shutdown`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def extra(name: str, *modules: str) -> Iterator[None]:
    """For imports that need an extra. Raises `click.ClickException` with a hint where one of `modules` is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in modules:
            raise
        raise click.ClickException(f"this needs {missing}: pip install 'agui-middleware[{name}]'") from None


def wrap(app: ASGIApp, config: Path | None) -> AGUIMiddleware:
    """`app` behind the middleware. Raises `click.UsageError` that names each wrong setting, and what it allows."""
    try:
        return AGUIMiddleware(app, Settings.load(config))
    except ValueError as error:
        raise click.UsageError(why_no_settings(error)) from None


def why_no_settings(error: ValueError) -> str:
    """What is wrong with settings, where `Settings` raised `error`: a line per field, or one for a file or a variable."""
    if isinstance(error, ValidationError):
        return "\n".join(_described(detail) for detail in error.errors())
    return str(error)


def _described(detail: ErrorDetails) -> str:
    field = ".".join(map(str, detail["loc"]))
    return f"{field}: {detail['msg'].removeprefix('Value error, ')}; the value is {detail['input']!r}"


def run(app: ASGIApp, host: str, port: int, timeout_graceful_shutdown: int, **options: Any) -> None:
    """Serve `app` until it is told to stop. Exits as uvicorn does, which logs where the port is taken."""
    with extra("proxy", "uvicorn"):
        import uvicorn
    uvicorn.run(app, host=host, port=port, timeout_graceful_shutdown=timeout_graceful_shutdown, **options)


@click.command()
@click.argument("app", metavar="MODULE:APP")
@server_options
def serve(app: str, config: Path | None, **server: Any) -> None:
    """Serve the ASGI app MODULE:APP, wrapped, with uvicorn.

    MODULE is looked for in the working directory too. Settings come from the environment and from files, as with
    AGUIMiddleware(app) in Python; filters are named as package.module:name.
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
        raise click.BadParameter(f"{name!r} is not an ASGI app: it cannot be called", param_hint="MODULE:APP")
    return app
