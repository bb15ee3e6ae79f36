"""`agui-middleware demo`."""

import socket
import threading
import webbrowser
from contextlib import suppress

import click

from agui_middleware.cli.serve import why_no_settings


@click.command(short_help="Show in a page what a release receives.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to serve on; by default a free one.")
@click.option("--open/--no-open", "opens", default=True, help="Whether to open the page in a browser.")
def demo(port: int, opens: bool) -> None:
    """Show in a page what a release of @ag-ui/client receives from a sample agent, or from a recorded stream.

    The page is served on 127.0.0.1 only, and needs no API key and no network. No settings file is read; AGUI_MIDDLEWARE_*
    variables apply to the agent that the page serves.
    """
    try:
        import uvicorn

        from agui_middleware.demo.server import make_app
    except ImportError as error:
        raise click.ClickException("the demo needs an extra: pip install 'agui-middleware[demo]'") from error
    try:
        app = make_app()
    except ValueError as error:
        raise click.ClickException(why_no_settings(error)) from None
    listener = listen(port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    click.echo(f"The demo is at {url} (Ctrl-C ends it)")
    if opens:
        # In a thread, because some browser commands return only when the browser is closed. The socket is listening already.
        threading.Thread(target=webbrowser.open, args=[url], daemon=True).start()
    # Without a timeout, a running trace would keep the server alive until it ends.
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    with suppress(KeyboardInterrupt):  # uvicorn raises it again behind its shutdown
        uvicorn.Server(config).run(sockets=[listener])


def listen(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1. Raises `ClickException` if the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise click.ClickException(
            f"port {port} cannot be used: {error.strerror}; choose another with --port"
        ) from None
    listener.listen()
    return listener
