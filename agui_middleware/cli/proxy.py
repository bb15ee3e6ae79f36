"""`agui-middleware proxy`."""

import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_middleware.cli.parameters import search_working_directory
from agui_middleware.cli.serve import extra, run, server_options, wrap


@click.command(short_help="Serve an AG-UI server in any language to every client.")
@click.option(
    "--upstream",
    required=True,
    metavar="URL",
    envvar="AGUI_MIDDLEWARE_UPSTREAM",
    show_envvar=True,
    help="The URL of the AG-UI server.",
)
@server_options
@click.option(
    "--connect-timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    envvar="AGUI_MIDDLEWARE_CONNECT_TIMEOUT",
    show_envvar=True,
    help="How many seconds to wait for a connection to the upstream.",
)
@click.option(
    "--idle-timeout",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    envvar="AGUI_MIDDLEWARE_IDLE_TIMEOUT",
    show_envvar=True,
    help="How many seconds the upstream may send nothing; 0 for no limit. The duration of a stream is not limited.",
)
@click.option(
    "--trust-forwarded",
    is_flag=True,
    envvar="AGUI_MIDDLEWARE_TRUST_FORWARDED",
    show_envvar=True,
    help="Keep the X-Forwarded-* and Forwarded headers of requests: another proxy in front of this one sets them.",
)
@click.option(
    "--ca-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="AGUI_MIDDLEWARE_CA_FILE",
    show_envvar=True,
    help="Certificates (PEM) of the authorities to trust for an https upstream, instead of the public ones.",
)
def proxy(upstream: str, idle_timeout: float, ca_file: Path | None, config: Path | None, **options: Any) -> None:
    """Serve the AG-UI server at --upstream, written in any language, to every client.

    Every request is forwarded, its path appended to that of the URL. Streams are rewritten according to the settings, which
    are read from the environment and from files. Filters are named as package.module:name, and also looked up in the working
    directory.
    """
    with extra("proxy", "httpx", "httpcore"):
        from agui_middleware.proxy import Proxy
    given = {name: options.pop(name) for name in ("connect_timeout", "trust_forwarded")}
    try:
        behind = Proxy(upstream, idle_timeout=idle_timeout or None, ssl_context=_trusting(ca_file), **given)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    # The proxy sets the client's address itself; `Server` and `Date` are the upstream's headers.
    search_working_directory()
    run(_quietly(wrap(behind, config)), **options, proxy_headers=False, server_header=False, date_header=False)


def _trusting(ca_file: Path | None) -> ssl.SSLContext | None:
    try:
        return ssl.create_default_context(cafile=ca_file) if ca_file else None
    except ssl.SSLError as error:
        raise click.BadParameter(f"{ca_file} has no certificate in PEM: {error}", param_hint="--ca-file") from None


def _quietly(app: ASGIApp) -> ASGIApp:
    """Suppress `UpstreamAborted`: uvicorn breaks off an incomplete response anyway, and would log a traceback."""
    from agui_middleware.proxy import UpstreamAborted

    async def quiet(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(UpstreamAborted):
            await app(scope, receive, send)

    return quiet
